//! `charge` and `statement_line`: what a period costs whom, exactly and in minor units. Rows of a closed period are final.

use super::table;

table! {
    /// Priced time of one holder (or of nobody) on one unit, a local day long at most: the exact money behind a line.
    /// `quantity_ms` x `price_micros` = `exact`, always.
    ChargeRow: "charge", grain "line x unit x holder x local day", key ["close_id", "line_id", "unit_id", "holder", "local_day"], by_day false {
        close_id: String, None, "the close that wrote it; `draft` before";
        period: String, None, "billing month, YYYY-MM";
        line_id: i64, Id, "the statement line that it is part of";
        unit_id: i64, Id, "device, or stand-in for devices nobody named; 0: none (reserved capacity)";
        holder: i64, Id, "allocation; 0: nobody";
        local_day: i32, Day, "day in the billing zone";
        node: Option<String>, None, "node, as it was called then";
        device: Option<String>, None, "UUID of the device, as it was called then";
        cluster: Option<String>, None, "cluster";
        job: Option<String>, None, "raw job id or workload UID";
        user: Option<String>, None, "user, as called then";
        account: Option<String>, None, "account or namespace";
        quantity_ms: i64, Ms, "GPU-ms that are priced";
        held_ms: i64, Ms, "held";
        busy_ms: i64, Ms, "busy";
        held_idle_ms: i64, Ms, "held and measured idle: waste";
        held_unmeasured_ms: i64, Ms, "held and not measured";
        energy_mj: Option<i64>, Millijoules, "measured energy";
        exact: i128, ExactMoney, "quantity_ms x price_micros";
    }
}

table! {
    #[derive(Default)]
    /// A line of a statement. Lines of a period add up to its total in minor units; team lines go to teams, the rest is the
    /// platform's, and together they are what the fleet cost.
    StatementLineRow: "statement_line", grain "period x team x cost centre x pool x tier x model x task type x rate x kind", key ["close_id", "line_id"], by_day false {
        close_id: String, None, "the close that wrote it; `draft` before";
        period: String, None, "billing month, YYYY-MM";
        line_id: i64, Id, "id of the line's key";
        kind: String, None, "kind of line, see `bill::LineKind`";
        platform: bool, None, "whether the platform bears it: it is on no team's statement";
        team: String, None, "team that pays; `(platform)` for the platform";
        cost_center: Option<String>, None, "cost centre";
        pool: Option<String>, None, "pool";
        tier: Option<String>, None, "tier";
        model: Option<String>, None, "GPU model";
        task_type: Option<String>, None, "task type";
        mode: Option<String>, None, "how the pool is billed: held, busy, quota, showback";
        rate_id: Option<i64>, Id, "rate version";
        list_price_micros: Option<i64>, PriceMicros, "price of the rate";
        price_micros: Option<i64>, PriceMicros, "price after multipliers: what is charged";
        discount: Option<String>, None, "names of the multipliers that made the difference, comma-separated";
        currency: String, None, "ISO 4217 code";
        quantity_ms: i64, Ms, "GPU-ms that are priced";
        held_ms: i64, Ms, "held";
        busy_ms: i64, Ms, "busy";
        held_idle_ms: i64, Ms, "held and measured idle: waste";
        held_unmeasured_ms: i64, Ms, "held and not measured";
        covered_ms: i64, Ms, "measured part of held";
        effective_ms: Option<i64>, Ms, "effective; absent: not measured";
        energy_mj: Option<i64>, Millijoules, "measured energy; absent: none measured";
        exact: i128, ExactMoney, "exact money: quantity_ms x price_micros, or the amount of a manual line";
        amount_minor: i64, MinorUnits, "billed, in minor units of the currency; negative is a credit";
        waste_minor: i64, MinorUnits, "of it waste: held_idle at this price, rounded on its own";
        list_minor: i64, MinorUnits, "what it would cost at list price, rounded on its own; showback's figure";
        corrects: Option<String>, None, "closed period that a correction corrects";
        reason: Option<String>, None, "why: of manual lines and corrections";
        approver: Option<String>, None, "who approved a manual line";
    }
}
