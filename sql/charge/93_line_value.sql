-- What lines show beside their amount, each rounded half up on its own: waste (what was held and not used) at the line's price
-- (showback, which bills nothing: at list price), and what the line's quantity costs at list price. Floor is (a - a % b) / b with the remainder brought to 0 or more.
-- grain: line. key: line_id. units: minor units
-- inputs: bill_line
-- parameters: divisor BIGINT
-- output: line_value
WITH exact AS (
    SELECT line_id, CAST(held_idle_ms AS DECIMAL(38, 0)) * CAST(coalesce(CASE WHEN mode = 'showback' THEN list_price_micros ELSE price_micros END, 0)
            AS DECIMAL(20, 0)) + CAST($divisor AS BIGINT) / 2 AS waste,
        CAST(quantity_ms AS DECIMAL(38, 0)) * CAST(coalesce(list_price_micros, 0) AS DECIMAL(20, 0)) + CAST($divisor AS BIGINT) / 2 AS list
    FROM bill_line
),
parts AS (
    SELECT line_id, waste, list,
        CASE WHEN waste % CAST($divisor AS BIGINT) < 0 THEN waste % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)
            ELSE waste % CAST($divisor AS BIGINT) END AS waste_rest,
        CASE WHEN list % CAST($divisor AS BIGINT) < 0 THEN list % CAST($divisor AS BIGINT) + CAST($divisor AS BIGINT)
            ELSE list % CAST($divisor AS BIGINT) END AS list_rest
    FROM exact
)
SELECT line_id, CAST((waste - waste_rest) / CAST($divisor AS BIGINT) AS DECIMAL(38, 0)) AS waste_minor,
    CAST((list - list_rest) / CAST($divisor AS BIGINT) AS DECIMAL(38, 0)) AS list_minor
FROM parts
ORDER BY line_id
