/** Recursive Length Prefix, compared with another implementation. */
import { encodeRlp } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { encodeRlpList } from '../../src/keys/rlp.ts'

t.test('a list in RLP is the same as from another implementation, for items of any length', async (t) => {
  const sameAs = (items: Parameters<typeof encodeRlpList>[0]) =>
    `0x${encodeRlpList(items).toString('hex')}` === encodeRlp(items as Parameters<typeof encodeRlp>[0])
  // One byte below and above 0x80, and the first lengths whose prefix has another form.
  const alone = [[], [0], [0x7f], [0x80], ...[54, 55, 56, 255, 256, 65_535, 65_536].map((n) => Array(n).fill(7))]
  for (const bytes of alone) t.ok(sameAs([Uint8Array.from(bytes)]), `${bytes.length} bytes`)
  const item = fc.oneof(fc.uint8Array({ maxLength: 70 }), fc.constant<readonly never[]>([]))
  fc.assert(fc.property(fc.array(item), sameAs))
})
