/** Metadata of tokens and collections in requests: accepted values, and the error of every failing field. */
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import t from 'tap'
import { ValidationFailed } from '../../src/core/errors.ts'
import { closedObject } from '../../src/http/schemas.ts'
import { createValidatorCompiler } from '../../src/http/validation.ts'
import { collectionMetadataSchema, tokenMetadataSchema } from '../../src/nft/metadata/schemas.ts'

const LIGHTHOUSE = {
  name: 'Lighthouse #1',
  description: 'The first of twelve.\nA line below it.',
  image: 'ipfs://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am/1.png',
  attributes: [
    { trait_type: 'Background', value: 'Blue' },
    { trait_type: 'Height', value: '42' },
  ],
}

const body = closedObject({
  metadata: Type.Optional(tokenMetadataSchema),
  collection: Type.Optional(collectionMetadataSchema),
  items: Type.Optional(Type.Array(closedObject({ metadata: tokenMetadataSchema }))),
})
const validate = createValidatorCompiler()({ schema: body, method: 'POST', url: '/', httpPart: 'body' })

/** `field code` of all problems of a request. */
function wrongWith(request: object): string[] {
  const verdict = validate(request) as true | { error: unknown }
  if (verdict === true) return []
  if (!(verdict.error instanceof ValidationFailed)) throw verdict.error
  return verdict.error.items.map(({ field, code }) => `${field} ${code}`)
}

t.test('metadata of a token is taken whole, or with its name alone', async (t) => {
  t.strictSame(wrongWith({ metadata: LIGHTHOUSE }), [])
  t.strictSame(wrongWith({ metadata: { name: '塔 🗼' } }), [])
  t.strictSame(wrongWith({ collection: {} }), [])
  t.strictSame(wrongWith({ collection: { external_url: 'https://example.com/a', image: LIGHTHOUSE.image } }), [])
})

t.test('every invalid field is reported by its path, in an item of a batch too', async (t) => {
  const bad = {
    name: '',
    description: 'bell \u0007',
    image: 'javascript:alert(1)',
    attributes: [
      { trait_type: 'a', value: 'b' },
      { trait_type: '', value: 'x'.repeat(1_025) },
      { trait_type: 'level', value: 7 },
      { trait_type: 'line\nbreak' },
      { trait_type: 'a', value: 'b', display_type: 'number' },
      'Blue',
    ],
    animation_url: 'https://example.com/a',
  }
  const told = [
    'animation_url unknown_field',
    'attributes[1].trait_type invalid_text',
    'attributes[1].value invalid_text',
    'attributes[2].value wrong_type',
    'attributes[3].trait_type invalid_text',
    'attributes[3].value required',
    'attributes[4].display_type unknown_field',
    'attributes[5] wrong_type',
    'description invalid_text',
    'image invalid_image_uri',
    'name invalid_text',
  ]
  t.strictSame(
    wrongWith({ metadata: bad }).sort(),
    told.map((line) => `metadata.${line}`),
  )
  const good = { metadata: LIGHTHOUSE }
  t.strictSame(
    wrongWith({ items: [good, good, good, { metadata: bad }] }).sort(),
    told.map((line) => `items[3].metadata.${line}`),
  )
  t.strictSame(wrongWith({ metadata: { image: 5 } }).sort(), ['metadata.image wrong_type', 'metadata.name required'])
  t.strictSame(wrongWith({ metadata: null }), ['metadata wrong_type'])
  const { items } = (validate({ metadata: bad }) as { error: ValidationFailed }).error
  const said = (field: string) => items.find((item) => item.field === field)?.message
  t.equal(
    said('metadata.attributes[2].value'),
    'metadata.attributes[2].value must be a string, not a number: put it in quotes.',
  )
  t.match(said('metadata.image'), /must be an http:\/\/, https:\/\/ or ipfs:\/\/ address .* or a data:image\/ URI/)
})

t.test('lengths and numbers are bounded', async (t) => {
  const attribute = { trait_type: 't'.repeat(128), value: 'v'.repeat(1_024) }
  const full = { name: '🗼'.repeat(256), description: 'd'.repeat(4_000), attributes: Array(100).fill(attribute) }
  t.strictSame(wrongWith({ metadata: full }), [])
  t.strictSame(wrongWith({ metadata: { ...full, name: 'n'.repeat(257) } }), ['metadata.name invalid_text'])
  t.strictSame(wrongWith({ metadata: { ...full, description: 'd'.repeat(4_001) } }), [
    'metadata.description invalid_text',
  ])
  t.strictSame(wrongWith({ metadata: { ...full, attributes: Array(101).fill(attribute) } }), [
    'metadata.attributes too_many',
  ])
})

t.test('an image is a web address, an ipfs address or an image as data', async (t) => {
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const images = [
    'https://example.com/1.png?size=2#top',
    'http://[2001:db8::1]:8080/a%20b',
    'https://例え.jp/画像.png',
    `https://example.com/${'a'.repeat(2_028)}`,
    'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPBdG/readme',
    'IPFS://bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am',
    `data:image/png;base64,${pixel}`,
    'data:image/svg+xml;charset=utf-8,%3Csvg%20xmlns=%22http://www.w3.org/2000/svg%22/%3E',
    'data:image/svg+xml;utf8,<svg xmlns="http://www.w3.org/2000/svg"/>',
    `data:image/gif;base64,${'A'.repeat(131_072 - 'data:image/gif;base64,'.length - 2)}`,
  ]
  for (const image of images) t.strictSame(wrongWith({ metadata: { name: 'a', image } }), [], image.slice(0, 80))
  const others = [
    '',
    'a.png',
    '/a.png',
    '//example.com/a.png',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    ' https://example.com/a.png',
    'https://example.com/a b.png',
    'https://example.com/a\u200bb.png',
    'https://exa\nmple.com/a.png',
    'https:/example.com/a.png',
    'https:\\\\example.com\\a.png',
    'https://',
    'https://example.com:99999/',
    'https://[::1/',
    'https://user:secret@example.com/a.png',
    'ftp://example.com/a.png',
    'file:///etc/passwd',
    'blob:https://example.com/1',
    'ipns://example.com/a.png',
    'ipfs:bafkreicysg23kiwv34eg2d7qweipxwosdo2py4ldv42nbauguluen5v6am',
    'ipfs://',
    'ipfs:///a',
    'ipfs://user@bafy/a',
    `ipfs://${'a'.repeat(2_042)}`,
    `https://example.com/${'a'.repeat(2_029)}`,
    'data:,a',
    'data:text/html,<script>alert(1)</script>',
    'data:text/html;image/png,a',
    'data:image/,a',
    'data:image/png',
    'data:image/png;base64,',
    'data:image/png;base64,A',
    'data:image/png;base64,####',
    'data:image/svg+xml,',
    `data:image/gif;base64,${'A'.repeat(131_072 - 'data:image/gif;base64,'.length + 2)}`,
  ]
  for (const image of others)
    t.strictSame(
      wrongWith({ metadata: { name: 'a', image } }),
      ['metadata.image invalid_image_uri'],
      image.slice(0, 80),
    )
  for (const external_url of ['ipfs://a', 'data:image/png;base64,AAAA', 'javascript:alert(1)', 'example.com'])
    t.strictSame(wrongWith({ collection: { external_url } }), ['collection.external_url invalid_url'])
})

t.test('no text is taken that a browser would open as anything but http, https, ipfs or an image', async (t) => {
  const start = fc.constantFrom(
    'javascript:',
    'data:',
    'data:text/html,',
    'http:',
    'https:',
    'ipfs:',
    'file:',
    'data:image/',
  )
  const invented = fc.tuple(fc.constantFrom('', ' ', '\n'), start, fc.string()).map((parts) => parts.join(''))
  const good = fc.constantFrom('https://example.com/a', 'ipfs://bafy/a', 'data:image/png;base64,AAAA')
  const spoilt = fc
    .tuple(good, fc.nat(30), fc.oneof(start, fc.string({ maxLength: 3 }), fc.constantFrom('\t', ';', ',', '@', '\\')))
    .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at))
  let taken = 0
  fc.assert(
    fc.property(fc.oneof(invented, spoilt), (text) => {
      if (wrongWith({ metadata: { name: 'a', image: text } }).length > 0) return true
      taken += 1
      const { protocol, pathname } = new URL(text)
      return protocol === 'data:' ? pathname.startsWith('image/') : ['http:', 'https:', 'ipfs:'].includes(protocol)
    }),
    { numRuns: 5_000 },
  )
  t.ok(taken > 200, `${taken} texts are accepted`)
})
