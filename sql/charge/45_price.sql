-- Prices: of each kind of use, in each phase in which it occurs, within the quota and (where it can be) above it. The list price is
-- the rate's. Multipliers lower or raise it: of each kind (off_peak, borrowed, preemptible, discount) the most specific row that
-- is valid and open counts (team, then task type, pool, model, tier; of equals the first name), the kinds multiply, and the price is
-- rounded once, half up, to a millionth of the currency. Time that nobody holds is never discounted, reserved capacity only by
-- `discount`; `borrowed` is for what is held above the quota, `preemptible` for runs that may be preempted.
-- tariff_no: the same for everything that is charged alike.
-- grain: kind of use x phase x borrowed. key: use_no, phase_ms, borrowed. units: millionths of the currency per GPU-hour
-- inputs: use_kind, owned_at, reserve_kind, price_slot, rate_span, discount, discount_cell
-- parameters: none
-- output: price
WITH occurs AS (
    SELECT use_no, epoch_ms FROM owned_at
    UNION SELECT k.use_no, r.epoch_ms FROM reserve_kind r JOIN use_kind k ON k.use_key = r.use_key
),
phase AS (
    SELECT DISTINCT epoch_ms, phase_ms FROM price_slot
),
listed AS (
    SELECT k.use_no, p.phase_ms, k.team, k.task_type, k.pool, k.model, k.tier, k.nobody, k.reserved, k.preemptible,
        r.rate_id, r.price_micros AS list_price_micros, r.currency
    FROM occurs o
    JOIN phase p ON p.epoch_ms = o.epoch_ms
    JOIN use_kind k ON k.use_no = o.use_no
    JOIN rate_span r ON r.rate_key = k.rate_key AND r.from_ms <= p.phase_ms AND r.to_ms > p.phase_ms
),
fitting AS (
    SELECT l.use_no, l.phase_ms, d.kind, d.name, d.factor_e4,
        row_number() OVER (
            PARTITION BY l.use_no, l.phase_ms, d.kind
            ORDER BY CASE WHEN d.team IS NULL THEN 0 ELSE 16 END + CASE WHEN d.task_type IS NULL THEN 0 ELSE 8 END
                + CASE WHEN d.pool IS NULL THEN 0 ELSE 4 END + CASE WHEN d.model IS NULL THEN 0 ELSE 2 END
                + CASE WHEN d.tier IS NULL THEN 0 ELSE 1 END DESC, d.name, d.discount_id) AS place
    FROM listed l
    JOIN discount d ON NOT l.nobody AND d.from_ms <= l.phase_ms AND (d.to_ms IS NULL OR d.to_ms > l.phase_ms)
        AND (d.team IS NULL OR d.team = l.team)
        AND (d.task_type IS NULL OR d.task_type = l.task_type)
        AND (d.pool IS NULL OR d.pool = l.pool)
        AND (d.model IS NULL OR d.model = l.model)
        AND (d.tier IS NULL OR d.tier = l.tier)
        AND (d.kind = 'discount' OR NOT l.reserved)
        AND (d.kind <> 'preemptible' OR l.preemptible)
    LEFT JOIN discount_cell c ON c.cell = l.phase_ms / 900000 AND c.discount_id = d.discount_id
    WHERE c.cell IS NOT NULL
        OR (d.day_mask = 127 AND (d.from_minute = d.to_minute OR (d.from_minute = 0 AND d.to_minute = 1440)))
),
multiplied AS (
    SELECT use_no, phase_ms,
        max(CASE WHEN kind = 'off_peak' THEN factor_e4 END) AS off_peak, max(CASE WHEN kind = 'off_peak' THEN name END) AS off_peak_name,
        max(CASE WHEN kind = 'borrowed' THEN factor_e4 END) AS borrowed, max(CASE WHEN kind = 'borrowed' THEN name END) AS borrowed_name,
        max(CASE WHEN kind = 'preemptible' THEN factor_e4 END) AS preemptible,
        max(CASE WHEN kind = 'preemptible' THEN name END) AS preemptible_name,
        max(CASE WHEN kind = 'discount' THEN factor_e4 END) AS discount, max(CASE WHEN kind = 'discount' THEN name END) AS discount_name
    FROM fitting
    WHERE place = 1
    GROUP BY use_no, phase_ms
),
above (borrowed) AS (
    VALUES (false), (true)
),
exact AS (
    SELECT l.use_no, l.phase_ms, a.borrowed, l.rate_id, l.list_price_micros, l.currency,
        CAST(l.list_price_micros AS DECIMAL(38, 0)) * coalesce(m.off_peak, 10000)
            * CASE WHEN a.borrowed THEN coalesce(m.borrowed, 10000) ELSE 10000 END
            * coalesce(m.preemptible, 10000) * coalesce(m.discount, 10000) AS e16,
        concat_ws(',', m.off_peak_name, CASE WHEN a.borrowed THEN m.borrowed_name END, m.preemptible_name, m.discount_name) AS names
    FROM listed l
    CROSS JOIN above a
    LEFT JOIN multiplied m ON m.use_no = l.use_no AND m.phase_ms = l.phase_ms
    WHERE NOT a.borrowed OR (NOT l.nobody AND NOT l.reserved)
),
rounded AS (
    SELECT use_no, phase_ms, borrowed, rate_id, list_price_micros, currency,
        CAST((e16 + 5000000000000000 - (e16 + 5000000000000000) % 10000000000000000) / 10000000000000000 AS BIGINT) AS price_micros,
        CASE WHEN list_price_micros IS NOT NULL THEN nullif(names, '') END AS discount
    FROM exact
)
SELECT use_no, phase_ms, borrowed, rate_id, list_price_micros, price_micros, discount, currency,
    CAST(dense_rank() OVER (ORDER BY use_no, rate_id, list_price_micros, price_micros, discount, currency, borrowed) AS BIGINT)
        AS tariff_no
FROM rounded
