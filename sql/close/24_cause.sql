-- Why a key changed: by what happened to the time of each unit, holder and day in it. Its time itself changed: usage (became
-- known later, or was taken back). The same time for another statement: owner (nobody's time: sharing). The same statement at
-- another price: price. Else terms: another pool, model, task type or mode. Of several the first of this list.
-- grain: line_key
-- inputs: charge_change
-- parameters: none
-- output: cause
WITH place AS (
    -- whether there are several is asked of the least and the greatest: a set a place would take 10 kB each
    SELECT unit_id, holder, local_day, sum(quantity_ms) AS moved_ms, min(statement_key) <> max(statement_key) AS moved_on,
        min(price_micros) <> max(price_micros) AS repriced
    FROM charge_change
    WHERE exact <> 0
    GROUP BY unit_id, holder, local_day
),
ranked AS (
    SELECT c.line_key,
        min(CASE WHEN p.moved_ms <> 0 THEN 1 WHEN p.moved_on AND p.holder <> 0 THEN 2 WHEN p.moved_on THEN 3
            WHEN p.repriced THEN 4 ELSE 5 END) AS rank
    FROM charge_change c
    JOIN place p ON p.unit_id = c.unit_id AND p.holder = c.holder AND p.local_day = c.local_day
    WHERE c.exact <> 0
    GROUP BY c.line_key
)
SELECT line_key,
    CASE rank WHEN 1 THEN 'usage' WHEN 2 THEN 'owner' WHEN 3 THEN 'sharing' WHEN 4 THEN 'price' ELSE 'terms' END AS cause
FROM ranked
