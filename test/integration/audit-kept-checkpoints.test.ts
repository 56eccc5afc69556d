/** `audit verify` with a file of checkpoints that was kept elsewhere: it is evidence, or the command refuses it. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { signCheckpoint } from '../../src/audit/note/checkpoint.ts'
import { makeNoteKey, type NoteSigner, parseNoteSigner } from '../../src/audit/note/note-keys.ts'
import { withAudit } from '../support/audit.ts'
import { matchExactly } from '../support/match-exactly.ts'

const stage = await withAudit(t)
const { tamper, verify, transfers, takeCheckpoint } = stage
const ids = await transfers(20)
await takeCheckpoint()
await transfers(10)
await takeCheckpoint()

t.test('a named file of checkpoints is evidence, or the verification is refused', async (t) => {
  const good = await readFile(stage.checkpointFile, 'utf8')
  const kept = join(t.testdir(), 'kept')
  const verifyWith = async (text: string) => {
    await writeFile(kept, text)
    return verify(`--checkpoints ${kept}`)
  }
  const note = good.slice(0, good.length / 2)
  const page = '<html>\n\n<p>Moved</p>\n\n<p>Sign in</p>\n\n</html>\n\n'
  const stranger = makeNoteKey(() => 'example.com/test')
  const foreign = signCheckpoint({ size: 600, root: Buffer.alloc(32, 7) }, parseNoteSigner(stranger) as NoteSigner)
  const worthless: Readonly<Record<string, string>> = {
    'an empty file': '',
    'a cut file': note.slice(0, -30),
    'a file of NUL': '\0'.repeat(good.length),
    'a file of NUL in parts': `${'\0'.repeat(40)}\n\n`.repeat(4),
    'a web page': page,
    'a file of another key': `${foreign.note}\n`,
  }
  t.match(await verifyWith(good), { code: 0, out: /2 checkpoints agree \(in .*kept: 2\)/, err: '' })
  const torn = await verifyWith(good.slice(0, -20))
  matchExactly(t, [torn.code, torn.out], [0, /\(in .*kept: 1\)/])
  t.match(torn.err, /kept ends with \d+ bytes that are no whole checkpoint: they are ignored/, 'a torn end is reported')
  t.match(await verifyWith(`${good}${'\0'.repeat(9)}`), { code: 0, err: /ends with 9 bytes/ })
  t.match(
    await verifyWith(`${good}${page}`),
    { code: 1, err: /note 3 of .*kept is not signed/ },
    'nor is a part left out',
  )

  await tamper(
    `DELETE FROM events WHERE stream_id = 'transaction-${ids[3]}'`,
    'DELETE FROM audit_tiles',
    "UPDATE audit_tree SET size = 0, transaction_id = '0', position = 0",
    'DELETE FROM audit_checkpoints',
  )
  t.match(await verifyWith(good), { code: 1, out: /does not match the root of the log|last \d+ events are missing/ })
  for (const [what, text] of Object.entries(worthless)) {
    const { code, out, err } = await verifyWith(text)
    t.strictSame([code, out], [2, ''], what)
    t.match(err, /^--checkpoints: .*kept has no checkpoint of this log: [^\n]*\n$/, what)
  }
})
