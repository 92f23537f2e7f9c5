-- Tariffs: everything that is the same of all that is charged alike. payer: whether a team pays; foreign use that nobody owns
-- is borne by the platform. borrowed: above the quota.
-- grain: tariff. key: tariff_no. units: millionths of the currency per GPU-hour
-- inputs: price, use_kind
-- parameters: none
-- output: tariff
SELECT DISTINCT p.tariff_no, p.use_no, p.borrowed, p.rate_id, p.list_price_micros, p.price_micros, p.discount, p.currency,
    k.team, k.cost_center, k.task_type, k.pool, k.model, k.tier, k.mode, k.share_unallocated, k.share_unavailable,
    k.share_unobserved, k.nobody, k.reserved, coalesce(k.team <> 'foreign', false) AS payer
FROM price p
JOIN use_kind k ON k.use_no = p.use_no
