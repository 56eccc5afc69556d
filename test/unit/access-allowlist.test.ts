/** The ranges of addresses of a key: their only form, what is in them, and which are within others. */
import fc from 'fast-check'
import t from 'tap'
import { canonicalRange, isWithin, rangeCheck } from '../../src/access/allowlist.ts'

t.test('a range has one form, whatever it was written as', async (t) => {
  const forms: [text: string, canonical: string | null][] = [
    ['203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::ffff:203.0.113.7', '203.0.113.7/32'],
    ['::ffff:cb00:7107', '203.0.113.7/32'],
    ['::ffff:203.0.113.0/120', '203.0.113.0/24'],
    ['::ffff:0:0/96', '0.0.0.0/0'],
    // An address of IPv6 that ends as one of IPv4 is written.
    ['::203.0.113.7', '::cb00:7107/128'],
    ['2001:DB8::/32', '2001:db8::/32'],
    ['2001:db8:0:0:0:0:0:1', '2001:db8::1/128'],
    ['::/0', '::/0'],
    // Bits behind the prefix: somebody meant another range.
    ['203.0.113.7/24', null],
    ['203.0.113.128/24', null],
    ['2001:db8::1/64', null],
    ['::ffff:203.0.113.7/120', null],
    // Other forms of an address that some parsers take, and no address at all.
    ...[
      '',
      '/24',
      '203.0.113',
      '203.0.113.0/33',
      '::/129',
      '0x7f.1',
      '127.1',
      '010.0.0.1',
      '2130706433',
      '1.2.3.4/',
      '1.2.3.4/08',
    ]
      .concat(
        '1.2.3.4/24/8',
        '1.2.3.4/-1',
        '1.2.3.4 ',
        'fe80::1%eth0',
        'localhost',
        '*',
        '::ffff:1.2.3.4.5',
        '1.2.3.4/1e1',
      )
      .map((text): [string, null] => [text, null]),
  ]
  for (const [text, canonical] of forms) t.equal(canonicalRange(text), canonical, text)
})

const ipv4 = fc.tuple(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.integer({ min: 0, max: 32 }))
const addressOf = (bits: number) => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')
const masked = (bits: number, length: number) => (length === 0 ? 0 : (bits & (0xffffffff << (32 - length))) >>> 0)
const rangeOf = ([bits, length]: readonly [number, number]) => `${addressOf(masked(bits, length))}/${length}`

t.test('an address is in a range as its first bits are, in each form of it', async () => {
  fc.assert(
    fc.property(ipv4, fc.integer({ min: 0, max: 2 ** 32 - 1 }), ([bits, length], other) => {
      const range = rangeOf([bits, length])
      const isIn = masked(other, length) === masked(bits, length)
      const check = rangeCheck([range])
      return (
        canonicalRange(range) === range &&
        check(addressOf(other)) === isIn &&
        check(`::ffff:${addressOf(other)}`) === isIn &&
        (masked(bits, length) === bits || canonicalRange(`${addressOf(bits)}/${length}`) === null)
      )
    }),
  )
})

t.test('ranges are within others if each of their addresses is in one of them', async (t) => {
  fc.assert(
    fc.property(ipv4, ipv4, (inner, outer) => {
      const expected = inner[1] >= outer[1] && masked(inner[0], outer[1]) === masked(outer[0], outer[1])
      return isWithin([rangeOf(inner)], [rangeOf(outer), '2001:db8::/32']) === expected
    }),
  )
  t.ok(isWithin([], []), 'everywhere is within everywhere')
  t.ok(isWithin(['203.0.113.0/24'], []))
  t.notOk(isWithin([], ['0.0.0.0/0', '::/0']), 'and not within any list')
  t.notOk(isWithin(['0.0.0.0/0'], ['::/0']), 'IPv4 is not in IPv6')
  t.ok(isWithin(['203.0.113.0/25', '2001:db8::1/128'], ['203.0.113.0/24', '2001:db8::/32']))
  t.notOk(isWithin(['203.0.113.0/25', '198.51.100.1/32'], ['203.0.113.0/24']))
})
