//! Reference tables of money beside rates and owners: terms of pools, multipliers, real cost, energy, budgets, cost centres,
//! manual lines. Dated rows `[from_ms, to_ms)`.

use super::table;

table! {
    /// How a pool is billed, and who bears what nobody used. A pool without a row: mode held, nothing shared out.
    TermsRow: "terms", grain "pool x interval", key ["pool", "from_ms"], by_day false {
        pool: String, None, "pool";
        mode: String, None, "held, busy, quota or showback";
        share_unallocated: String, None, "unallocated cost: none (the platform's), even, held or quota";
        share_unavailable: String, None, "unavailable cost: the same";
        share_unobserved: String, None, "unobserved cost: the same";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A multiplier on a price. Of each kind the most specific row that fits counts (team, then task type, pool, model, tier);
    /// the kinds multiply, and the price is rounded once.
    DiscountRow: "discount", grain "kind x selector x window x interval", key ["name", "from_ms"], by_day false {
        discount_id: i64, Id, "id of the row: the version that a charge names";
        name: String, None, "name on the statement";
        kind: String, None, "off_peak, borrowed, preemptible or discount";
        team: Option<String>, None, "team; absent: any";
        task_type: Option<String>, None, "task type; absent: any";
        pool: Option<String>, None, "pool; absent: any";
        model: Option<String>, None, "model; absent: any";
        tier: Option<String>, None, "tier; absent: any";
        days: Option<String>, None, "days of the week as typed, e.g. mon-fri; absent: every day";
        day_mask: i64, Count, "the same as bits, Monday 1, Tuesday 2 ... Sunday 64";
        from_minute: i64, Count, "first minute of the local day, a multiple of 15";
        to_minute: i64, Count, "first minute after; not after from_minute: it goes on into the next day";
        factor_e4: i64, Count, "the price is multiplied by this and divided by 10 000; over 10 000 is a surcharge";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// What a pool really costs in an interval: a period takes its part by time.
    CostPoolRow: "cost_pool", grain "pool x kind x interval", key ["pool", "kind", "from_ms"], by_day false {
        pool: String, None, "pool";
        kind: String, None, "depreciation, power, operations or other";
        amount_micros: i64, Micros, "amount for the whole interval, in millionths of the currency";
        currency: String, None, "ISO 4217 code";
        from_ms: i64, Instant, "from";
        to_ms: Option<i64>, Instant, "to; required";
    }
}

table! {
    /// Price of energy.
    EnergyPriceRow: "energy_price", grain "pool x interval", key ["pool", "from_ms"], by_day false {
        pool: Option<String>, None, "pool; absent: any that has no row of its own";
        kwh_micros: i64, Micros, "price of a kWh, in millionths of the currency";
        currency: String, None, "ISO 4217 code";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// What a team may spend in an interval, in money, in GPU-hours, or both.
    BudgetRow: "budget", grain "team x interval", key ["team", "from_ms"], by_day false {
        team: String, None, "team";
        amount_micros: Option<i64>, Micros, "money for the interval, in millionths of the currency";
        gpu_hours: Option<i64>, Count, "held GPU-hours for the interval";
        alert_at: String, None, "percents at which to say so, e.g. 50,80,100";
        currency: String, None, "ISO 4217 code";
        from_ms: i64, Instant, "from";
        to_ms: Option<i64>, Instant, "to; required";
    }
}

table! {
    /// A cost centre and the one above it.
    CostCenterRow: "cost_center", grain "code x interval", key ["code", "from_ms"], by_day false {
        code: String, None, "code, as owners name it";
        name: String, None, "name for people";
        parent: Option<String>, None, "code of the one above; absent: the top";
        from_ms: i64, Instant, "valid from";
        to_ms: Option<i64>, Instant, "valid to; absent: open";
    }
}

table! {
    /// A line that a person wrote: it stands on the statement of its period as it is.
    ManualLineRow: "manual_line", grain "line", key ["line"], by_day false {
        line: String, None, "name of the line, unique in its period";
        period: String, None, "billing month it is booked in, YYYY-MM";
        kind: String, None, "credit (negative) or adjustment";
        team: String, None, "team";
        cost_center: Option<String>, None, "cost centre";
        amount_micros: i64, Micros, "amount in millionths of the currency, whole minor units; negative is in favour of the team";
        currency: String, None, "ISO 4217 code";
        reason: String, None, "why";
        approver: String, None, "who approved it";
        from_ms: i64, Instant, "when it was written";
        to_ms: Option<i64>, Instant, "when it was withdrawn; absent: it stands";
    }
}
