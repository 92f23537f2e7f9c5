-- Models whose busy time was never compared with a known load (`gpuledger-collector calibrate`): their figures are as good
-- as the driver's word.
-- grain: model
-- inputs: unit, calibration
-- parameters: none
-- output: uncalibrated
SELECT DISTINCT u.model
FROM unit u
LEFT JOIN calibration c ON c.model = u.model AND c.error_ppm IS NOT NULL
WHERE u.kind = 'device' AND u.model IS NOT NULL AND c.model IS NULL
ORDER BY u.model
