/** What a reader of the reference needs once, before the calls. Markdown. */
export const REFERENCE_INTRODUCTION = `
Wallets, transfers, balances and NFTs on Ethereum, Polygon and BNB Smart Chain. A request has at most one effect on chain,
and nothing that was accepted is lost.

## Authentication

Send an API key with every request: \`Authorization: Bearer <API_KEY>\`. A key belongs to one tenant and one environment
and never sees what belongs to another.

## Answers

A success is \`{"status": "success", "data": …}\`. A refusal is \`{"status": "error", "message", "errors": […], "request_id"}\`;
\`errors\` lists everything that is wrong, with the \`field\` and a stable \`code\`. Every answer carries \`X-Request-Id\`, which
echoes yours if you send one.

## Amounts, addresses, times

Amounts are decimal strings in whole units of the asset, such as \`"1.5"\`; nothing is ever rounded. Addresses are answered with
an EIP-55 checksum. Times are ISO 8601 in UTC with milliseconds.

## Doing things once

Send an \`Idempotency-Key\` with a POST that creates or spends, and repeat the request as often as the network makes you:
it has one effect, and every repetition gives the same resource with \`Idempotency-Replayed: true\`.

## Waiting

Work on chain goes on after the answer. \`Prefer: wait=10\` asks to wait up to ten seconds for it (at most 60), and
\`Prefer: respond-async\` not to wait; \`Preference-Applied\` says what was followed.

## Lists

Newest first. \`limit\` takes 1 to 100; pass \`next_cursor\` back as \`cursor\` while \`has_more\` is true. A cursor stays valid while
rows are added.

## Limits

A body may have 64 KiB and 2,048 values (objects, lists, texts, numbers, at every depth); routes that take more say so. A larger
one is answered with 413 \`body_too_large\` or 422 \`too_many_values\`.

\`RateLimit-Limit\`, \`RateLimit-Remaining\` and \`RateLimit-Reset\` tell where your key stands, or your address where no key
is needed; a 429 carries \`Retry-After\`.
`.trim()
