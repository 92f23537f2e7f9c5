//! `calibration`: how far independent measures of busy time were apart under a known load.

super::table! {
    /// A known load on a device, measured in several ways at once. A model and driver without one are uncalibrated.
    CalibrationRow: "calibration", grain "device x calibration", key ["device_id", "at_ms"], by_day false {
        device_id: i64, Id, "device the load ran on";
        at_ms: i64, Instant, "when it ended";
        cluster: String, None, "cluster of its node";
        node: String, None, "host name";
        model: Option<String>, None, "model name as the driver gives it";
        driver: Option<String>, None, "driver version";
        covered_ms: i64, Ms, "time that was looked at";
        busy_ms: Option<i64>, Ms, "busy time of all processes, as the collector integrates it";
        device_busy_ms: Option<i64>, Ms, "busy time by the device's own utilization";
        load_busy_ms: Option<i64>, Ms, "busy time that the load was asked for, where known";
        error_ppm: Option<i64>, Ppm, "greatest difference of another measure from the collector's, of the time covered";
    }
}
