/** Parsing of bodies and texts of refusals, each compared with its rule. */
import fc from 'fast-check'
import t from 'tap'
import { closest } from '../../src/core/closest.ts'
import { fieldPath, stepsOf } from '../../src/core/field-path.ts'
import { unfitIn } from '../../src/core/plain-text.ts'
import { errorBody } from '../../src/http/envelope.ts'
import { ERROR_TYPES, statusOf } from '../../src/http/error-status.ts'
import { readJsonBody } from '../../src/http/json-body.ts'
import { shapeOf } from '../../src/http/json-shape.ts'
import { exampleOf } from '../../src/http/openapi-examples.ts'
import { labelSchema } from '../../src/http/schemas.ts'
import { refusal } from '../support/refusal.ts'

t.test('every error type has its status, and a few codes refine it', async (t) => {
  const statuses = Object.fromEntries(ERROR_TYPES.map((type) => [type, statusOf({ type } as { type: 'conflict' })]))
  t.strictSame(statuses, {
    validation_error: 422,
    authentication_error: 401,
    permission_error: 403,
    not_found: 404,
    conflict: 409,
    idempotency_error: 422,
    policy_error: 403,
    insufficient_funds: 422,
    chain_error: 422,
    rate_limit_error: 429,
    unavailable: 503,
    internal_error: 500,
  })
  t.equal(statusOf({ type: 'validation_error', code: 'malformed_json' }), 400)
  t.equal(statusOf({ type: 'validation_error', code: 'body_too_large' }), 413)
  t.equal(statusOf({ type: 'validation_error', code: 'unsupported_media_type' }), 415)
  t.equal(statusOf({ type: 'not_found', code: 'method_not_allowed' }), 405)
  t.equal(statusOf({ type: 'idempotency_error', code: 'idempotency_in_progress' }), 409)
  t.equal(statusOf({ type: 'idempotency_error', code: 'idempotency_key_reused' }), 422)
})

t.test('the message of an error with one item is that item; with several it counts them', async (t) => {
  const item = { type: 'validation_error' as const, message: 'to is required.', field: 'to' }
  t.equal(errorBody([item], 'req_1').message, 'to is required.')
  t.equal(errorBody([item, item], 'req_1').message, 'The request has 2 invalid fields.')
  const general = { type: 'validation_error' as const, message: 'The body must be an object.' }
  t.equal(errorBody([item, general], 'req_1').message, 'The request has 2 errors.')
})

t.test('a path in a body is written as a caller writes it', async (t) => {
  const body = { items: [{ to: 'x' }, { 'a/b~c': 1 }], '0': { '1': true } }
  t.equal(fieldPath(stepsOf('/items/0/to', body)), 'items[0].to')
  t.equal(fieldPath(stepsOf('/items/1/a~1b~0c', body)), 'items[1].a/b~c')
  t.equal(fieldPath(stepsOf('/0/1', body)), '0.1', 'a number is an index only in an array')
  t.equal(fieldPath(stepsOf('', body)), '')
  t.equal(fieldPath(['x'.repeat(100)]), `${'x'.repeat(64)}…`, 'a long field name is cut')
  t.equal(fieldPath(['a\u0007\u202eb']), 'a??b', 'unprintable characters of a field name are replaced')
})

t.test('a misspelt word is recognised, a different word is not', async (t) => {
  const fields = ['amount', 'asset', 'gas_priority', 'to']
  t.equal(closest('amout', fields), 'amount')
  t.equal(closest('amuont', fields), 'amount')
  t.equal(closest('gasPriority', fields), 'gas_priority')
  t.equal(closest('AMOUNT', fields), 'amount')
  t.equal(closest('recipient', fields), undefined)
  t.equal(closest('ot', fields), undefined, 'a word of two letters has no suggestion')
  t.equal(closest('amount'.padEnd(5_000, 'x'), fields), undefined)
})

t.test('a body is parsed as JSON only when it is safe to use', async (t) => {
  const read = (text: string) => readJsonBody(Buffer.from(text))
  t.strictSame(read('{"a":[1,null,"é🏦"]}'), { a: [1, null, 'é🏦'] })
  t.equal(read(''), undefined)
  for (const twice of ['{"a":1,"a":2}', '{"a":[{"b":1,"b":1}]}', '{"a":{},"\\u0061":":"}', '{"a\\"":1,"a\\"":2}']) {
    t.match(
      refusal(() => read(twice)),
      { code: 'duplicate_field' },
      twice,
    )
  }
  t.strictSame(read('{"a:":":","b\\":":["\\\\",{"a":{}}]}'), { 'a:': ':', 'b":': ['\\', { a: {} }] })
  t.throws(() => read('{"a":}'), { code: 'malformed_json', message: /not valid JSON/ })
  t.throws(() => read("{'a':1}"), { code: 'malformed_json' })
  t.throws(() => readJsonBody(Buffer.from([0x22, 0xc3, 0x28, 0x22])), { code: 'malformed_json', message: /UTF-8/ })
  t.match(
    refusal(() => read('{"a":{"__proto__":{"admin":true}}}')),
    { code: 'unknown_field', field: 'a.__proto__' },
  )
  t.match(
    refusal(() => read('{"\\u005f_proto__":1}')),
    { code: 'unknown_field' },
  )
  t.match(
    refusal(() => read('{"constructor":{"prototype":{}}}')),
    { code: 'unknown_field', field: 'constructor' },
  )
  t.strictSame(read('{"constructor":"Foster"}'), { constructor: 'Foster' } as object)
  t.match(
    refusal(() => read('{"a":["\\u0000"]}')),
    { code: 'invalid_text', field: 'a[0]' },
  )
  t.match(
    refusal(() => read('{"a":"\\ud83c"}')),
    { code: 'invalid_text', field: 'a' },
  )
  t.strictSame(read('{"a":"\\ud83c\\udfe6"}'), { a: '🏦' }, 'a surrogate pair is one character')
  t.match(
    refusal(() => read('{"\\u0000":1}')),
    { code: 'invalid_text' },
  )
  t.match(
    refusal(() => read(`{"a":${'['.repeat(60)}${']'.repeat(60)}}`)),
    { code: 'too_deep', field: /^a\[0\]/ },
  )
  t.throws(() => read('['.repeat(2_000)), { code: 'malformed_json' })
  for (const text of ['['.repeat(400_000), `${'['.repeat(400_000)}${']'.repeat(400_000)}`, '{"a":'.repeat(3_000)]) {
    t.match(
      refusal(() => read(text)),
      { code: 'too_many_values' },
    )
  }
})

t.test('the values of a JSON text are counted without parsing it', async (t) => {
  const values = (value: unknown): number =>
    typeof value === 'object' && value !== null
      ? Object.values(value).reduce<number>((sum, part) => sum + values(part), 1)
      : 1
  const members = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : Object.values(value).reduce<number>(
          (sum, part) => sum + members(part),
          Array.isArray(value) ? 0 : Object.keys(value).length,
        )
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t\r'), (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      const written = JSON.parse(text) as unknown
      const shape = shapeOf(Buffer.from(text))
      return shape.values === values(written) && shape.members === members(written)
    }),
  )
  for (const broken of ['', '"', '"\\', '"a\\"', '}]', '[[[', '"\\u00'])
    t.type(shapeOf(Buffer.from(broken)).values, 'number')
})

t.test('a label may have any script and emoji, and no control characters', async (t) => {
  const pattern = new RegExp(String(labelSchema.pattern), 'u')
  for (const good of ['', 'Treasury', '金庫 🏦', '👨‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'خزنة', 'e\u0301', ' padded ', '"<script>\'; --']) {
    t.ok(pattern.test(good), codePoints(good))
  }
  for (const bad of ['\n', 'a\tb', '\u0000', '\u007f', '\u0085', '\u2028', '\u202egnp.exe', '\u2066x', '\ud83c']) {
    t.notOk(pattern.test(bad), codePoints(bad))
  }
})

/** A printable name for a check. */
function codePoints(text: string): string {
  return [...text].map((character) => `U+${character.codePointAt(0)?.toString(16)}`).join(' ')
}

t.test('the example of an object is composed from those of its fields', async (t) => {
  t.strictSame(
    exampleOf({
      type: 'object',
      properties: {
        network: { type: 'string', enum: ['ethereum', 'polygon'] },
        amount: { type: 'string', examples: ['1.5', '2'] },
        status: { const: 'success' },
        limit: { type: 'integer', default: 20 },
        hash: { type: ['string', 'null'] },
        tags: { type: 'array', items: { type: 'string', example: 'a' } },
        ready: { type: 'boolean' },
        nested: { anyOf: [{ type: 'object', properties: { n: { type: 'number' } } }, { type: 'null' }] },
        unknown: { type: 'string' },
      },
    }),
    {
      network: 'ethereum',
      amount: '1.5',
      status: 'success',
      limit: 20,
      hash: null,
      tags: ['a'],
      ready: true,
      nested: { n: 1 },
    },
  )
})

t.test('any accepted text is normalized and has no invisible characters', async (t) => {
  const parts = fc.constantFrom(
    'a',
    'é',
    'e\u0301',
    '\u200d',
    '\u200b',
    '\ufe0f',
    '🏦',
    '\u202e',
    '\n',
    '\ud83c',
    '\u115f',
    '가',
    '\u1100\u1161',
  )
  const texts = fc.oneof(
    fc.array(parts).map((some) => some.join('')),
    fc.array(fc.integer({ min: 0, max: 0x10ffff })).map((some) => String.fromCodePoint(...some)),
  )
  fc.assert(
    fc.property(texts, fc.boolean(), (text, lineFeeds) => {
      const shown = text
        .replace(/[\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u180b-\u180d\u180f]/gu, '')
        .replaceAll('\n', lineFeeds ? '' : '\n')
      const isFit = text === text.normalize('NFC') && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}]/u.test(shown)
      return (unfitIn(text, { lineFeeds }) === null) === isFit
    }),
    { numRuns: 500 },
  )
  t.pass()
})
