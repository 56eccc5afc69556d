/** The introduction of the API reference. Markdown. */
export const REFERENCE_INTRODUCTION = `
Wallets, transfers, balances and NFTs on Ethereum, Polygon and BNB Smart Chain. A request has at most one effect on chain,
and no accepted request is lost.

## Authentication

Send an API key with every request: \`Authorization: Bearer <API_KEY>\`. A key belongs to one tenant and one environment
and cannot access the data of another.

## Responses

A success has the body \`{"status": "success", "data": …}\`. An error has the body
\`{"status": "error", "message", "errors": […], "request_id"}\`. \`errors\` lists every error with its \`field\` and a stable \`code\`.
Every response has the header \`X-Request-Id\`. If you send one, it is returned unchanged.

## Amounts, addresses, times

Amounts are decimal strings in whole units of the asset, such as \`"1.5"\`. They are never rounded. Addresses are returned with
an EIP-55 checksum. Times are ISO 8601 in UTC with milliseconds.

## Idempotent requests

Send an \`Idempotency-Key\` with each request that creates, changes or spends, and repeat the request after a timeout or a lost connection.
It has one effect. Each repetition returns the same resource with \`Idempotency-Replayed: true\`. Keys never expire.

## Waiting

Work on chain continues after the response. With \`Prefer: wait=10\` the response waits up to 10 seconds for it (at most 60). With
\`Prefer: respond-async\` it does not wait. \`Preference-Applied\` says which preference was applied.

## Lists

Lists are sorted from newest to oldest. \`limit\` is 1 to 100. While \`has_more\` is true, pass \`next_cursor\` as \`cursor\` to get the
next page. A cursor stays valid while rows are added.

To follow a list, read all its pages, then read \`GET /v1/events\` with the \`as_of_event\` of the first page as \`after\`. No change
is missed. Events from the time of the reads can repeat what the list shows.

## Limits

A body may have 64 KiB and 2,048 values (objects, arrays, strings, numbers, booleans and nulls, at every depth). Operations with
other limits say so. A larger body is refused with 413 \`body_too_large\` or 422 \`too_many_values\`.

\`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` report the rate limit of your API key, or of your IP address where
no key is needed. A 429 has \`Retry-After\` where waiting helps. A tenant also has quotas. A 429 with a code such as \`quota_wallets\`
has the limit, the usage and the rest in its \`details\`, and the three headers report that quota. \`GET /v1/quotas\` lists all
quotas. A request that is refused with 429 has no effect.
`.trim()
