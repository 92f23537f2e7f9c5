-- Which waiting requests for whole cards were blocked by fragmentation in a cell: the cluster had as many free whole cards as
-- they ask for, and yet they could not start. The kind is the first that takes too many of the free cards away, in this order:
-- quota_or_queue  the scheduler says that a limit of quota, account or QoS holds it
-- tier            too few are of the model it asks for (a part of the card's name; several with `|` between)
-- memory          too few of those have the memory per card that it asks for
-- quota_or_queue  too few of those are on nodes of its queue
-- node_scatter    of those, too few nodes have free as many as it wants on one node
-- interconnect    it wants several nodes, and no interconnect domain has enough of them
-- What is not known of a request or a card (queue, memory, model, domain) takes no card away. Cards per node are cards / nodes.
-- grain: request x cell. units: cards
-- inputs: pending_cell, free_cell
-- parameters: none
-- output: blocked_cell
WITH shape AS (
    -- equal requests of a cell are judged once
    SELECT DISTINCT cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota
    FROM pending_cell
    WHERE NOT is_part
),
fits AS (
    SELECT s.*, f.node, f.interconnect, f.cards AS free_cards,
        s.req_model IS NULL OR f.model IS NULL
            OR regexp_like(lower(f.model), regexp_replace(lower(s.req_model), '([.+*?()\[{}$])', '[\1]', 'g')) AS tier_fits,
        s.card_bytes IS NULL OR f.memory_bytes IS NULL OR f.memory_bytes >= s.card_bytes AS memory_fits,
        s.queue IS NULL OR f.queue IS NULL OR f.queue = s.queue AS queue_fits
    FROM shape s
    JOIN free_cell f ON f.cluster = s.cluster AND f.cell = s.cell
),
on_node AS (
    SELECT cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota, node, max(interconnect) AS interconnect,
        sum(free_cards) AS free_cards, sum(CASE WHEN tier_fits THEN free_cards ELSE 0 END) AS tier_cards,
        sum(CASE WHEN tier_fits AND memory_fits THEN free_cards ELSE 0 END) AS memory_cards,
        sum(CASE WHEN tier_fits AND memory_fits AND queue_fits THEN free_cards ELSE 0 END) AS queue_cards
    FROM fits
    GROUP BY cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota, node
),
in_domain AS (
    SELECT cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota, interconnect,
        sum(free_cards) AS free_cards, sum(tier_cards) AS tier_cards, sum(memory_cards) AS memory_cards,
        sum(queue_cards) AS queue_cards, sum(queue_cards / (cards / nodes)) AS places
    FROM on_node
    GROUP BY cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota, interconnect
),
judged AS (
    -- a node whose domain is not known may stand in any of them
    SELECT cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota,
        CAST(sum(free_cards) AS BIGINT) AS free_cards,
        CASE
            WHEN sum(free_cards) < cards THEN NULL
            WHEN over_quota THEN 'quota_or_queue'
            WHEN sum(tier_cards) < cards THEN 'tier'
            WHEN sum(memory_cards) < cards THEN 'memory'
            WHEN sum(queue_cards) < cards THEN 'quota_or_queue'
            WHEN sum(places) < nodes THEN 'node_scatter'
            WHEN nodes > 1 AND coalesce(max(CASE WHEN interconnect IS NOT NULL THEN places END), 0)
                + coalesce(sum(CASE WHEN interconnect IS NULL THEN places END), 0) < nodes THEN 'interconnect'
        END AS kind
    FROM in_domain
    GROUP BY cluster, cell, cards, nodes, req_model, card_bytes, queue, over_quota
)
SELECT p.job_id, p.cluster, p.cell, p.tasks, p.cards, p.nodes, j.kind, j.free_cards
FROM pending_cell p
JOIN judged j ON j.cluster = p.cluster AND j.cell = p.cell AND j.cards = p.cards AND j.nodes = p.nodes
    AND j.over_quota = p.over_quota AND (j.req_model IS NOT DISTINCT FROM p.req_model)
    AND (j.card_bytes IS NOT DISTINCT FROM p.card_bytes) AND (j.queue IS NOT DISTINCT FROM p.queue)
WHERE NOT p.is_part AND j.kind IS NOT NULL
