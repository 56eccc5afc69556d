/** Third-party text on its way into the log. */

import { AbiCoder } from 'ethers/abi'
import t from 'tap'
import { foreignText } from '../../src/chain/foreign-text.ts'
import { decodeResults } from '../../src/chain/json-rpc.ts'
import { decodeRevert } from '../../src/chain/revert-reason.ts'
import { isStorable, storable } from '../../src/event-log/storable.ts'

t.test('characters that a database or terminal cannot hold are replaced in text from a contract or node', async (t) => {
  const table: readonly (readonly [string, number, string])[] = [
    ['plain', 10, 'plain'],
    ['a\0b', 10, 'ab'],
    [`${'x'.repeat(511)}😀😀`, 512, `${'x'.repeat(511)}😀`],
    ['half \ud83d of a pair', 40, 'half  of a pair'],
    ['two\r\nlines\u2028and\tmore', 40, 'two lines and more'],
    ['\u202etxt.exe\u200b', 40, 'txt.exe'],
    ['e\u0301', 10, 'é'],
  ]
  for (const [text, most, expected] of table) t.equal(foreignText(text, most), expected)
  t.equal(foreignText('😀'.repeat(1_000_000), 4), '😀😀😀😀')

  const [result] = decodeResults(JSON.stringify({ id: 0, error: { code: 1, message: `reverted: a\0b\ud83d` } }), 1)
  t.hasStrict(result, { ok: false, error: { message: 'reverted: ab' } })
  const reason = AbiCoder.defaultAbiCoder().encode(['string'], [`\0${'x'.repeat(600)}`])
  t.hasStrict(decodeRevert(`0x08c379a0${reason.slice(2)}`), { args: { 0: 'x'.repeat(512) }, text: 'x'.repeat(512) })
})

t.test('an event that holds what jsonb cannot is stored with the replacement character', async (t) => {
  const stored = { text: 'a\ufffdb\ufffd', list: ['😀', 1, null, true], in: { it: '\\u0000' } }
  const meant = { ...stored, text: 'a\0b\ud83d' }
  t.strictSame([isStorable(JSON.stringify(stored)), isStorable(JSON.stringify(meant))], [false, false])
  t.ok(isStorable(JSON.stringify({ text: 'a\ufffdb', list: ['😀'] })))
  t.strictSame(storable(meant), stored)
})
