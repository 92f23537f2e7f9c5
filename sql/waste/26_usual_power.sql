-- The usual power of each model at work: the exact median over the runs of the window that used their cards for at least
-- half of the SM. Models with fewer than three such runs have none.
-- grain: model. key: model. units: mW
-- inputs: evidence
-- parameters: none
-- output: usual_power
WITH ranked AS (
    SELECT model, power_mw, row_number() OVER (PARTITION BY model ORDER BY power_mw, holder) AS place,
        count(*) OVER (PARTITION BY model) AS runs
    FROM evidence
    WHERE power_mw IS NOT NULL AND sm_ppm >= 500000
)
SELECT model, power_mw AS usual_mw FROM ranked WHERE place = (runs + 1) / 2 AND runs >= 3
