-- Where each person who holds something is reached: the first address of the user, mail before webhook; of a holder whose user
-- nobody knows, that of the team's lead.
-- grain: holder. key: holder
-- inputs: standing, run_place, contact
-- parameters: at_ms BIGINT
-- output: idle_reached
WITH fits AS (
    SELECT r.holder, c.address,
        row_number() OVER (PARTITION BY r.holder ORDER BY c.channel <> 'mail', c.address) AS place
    FROM standing r
    JOIN run_place p ON p.holder = r.holder
    JOIN contact c ON (c.kind = 'user' AND c.name = r."user") OR (c.kind = 'lead' AND r."user" IS NULL AND c.name = p.team)
    WHERE c.from_ms <= CAST($at_ms AS BIGINT) AND (c.to_ms IS NULL OR c.to_ms > CAST($at_ms AS BIGINT))
)
SELECT holder, address FROM fits WHERE place = 1
