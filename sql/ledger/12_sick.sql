-- Devices with a tick that means failure (see 13_failure), looked back for. Nearly no minute is one, and files say so
-- themselves, so that little is read.
-- grain: device. key: device_id
-- inputs: device_minute
-- parameters: day_from INT, day_to INT
-- output: sick
SELECT DISTINCT device_id
FROM device_minute
WHERE day >= CAST($day_from AS INT) AND day < CAST($day_to AS INT)
    AND (state = 'lost' OR xid IN (48, 64, 79, 95, 119, 120))
