/** Signed notes and checkpoints in the format of other programs, and ids of events. */
import t from 'tap'
import { openCheckpoint, signCheckpoint, signRotation } from '../../src/audit/note/checkpoint.ts'
import { keyHistory } from '../../src/audit/note/key-history.ts'
import { makeNoteKey, type NoteSigner, parseNoteSigner, parseNoteVerifier } from '../../src/audit/note/note-keys.ts'
import { openNote, signNote } from '../../src/audit/note/signed-note.ts'
import { eventIdOf, parseEventId } from '../../src/core/event-ids.ts'

/** From the documentation of golang.org/x/mod/sumdb/note. */
const SECRET = 'PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz'
const PUBLIC = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'
const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
const NOTE = `${TEXT}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`

const signer = parseNoteSigner(SECRET)
const verifier = parseNoteVerifier(PUBLIC)
if (signer === undefined || verifier === undefined) throw new Error('the keys of the documentation cannot be read')

t.test('a note is signed and opened as the Go package does it', async (t) => {
  t.equal(signer.encoded, PUBLIC)
  t.equal(signNote(TEXT, [signer]), NOTE)
  t.equal(openNote(NOTE, verifier), TEXT)
})

t.test('signatures by unknown keys are ignored', async (t) => {
  const stranger = parseNoteSigner(makeNoteKey(() => 'stranger.example'))
  if (stranger === undefined) return t.fail('parseNoteSigner cannot read the key that makeNoteKey returned')
  const theirs = signNote(TEXT, [stranger]).slice(TEXT.length + 1)
  t.equal(openNote(NOTE + theirs, verifier), TEXT)
  t.equal(openNote(`${TEXT}\n${theirs}`, verifier), null)
  t.equal(openNote(NOTE, stranger), null)
})

t.test('a note with any flipped bit is refused', async (t) => {
  const bytes = Buffer.from(NOTE, 'utf8')
  for (let index = 0; index < bytes.length; index += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const turned = Buffer.from(bytes)
      turned[index] = (turned[index] ?? 0) ^ (1 << bit)
      if (openNote(turned.toString('utf8'), verifier) !== null) t.fail(`bit ${bit} of byte ${index} is not checked`)
    }
  }
  t.equal(openNote(NOTE.trimEnd(), verifier), null)
  t.equal(openNote(`${NOTE}\n`, verifier), null)
  t.equal(openNote('', verifier), null)
})

t.test('keys whose name, id or bytes do not fit together are refused', async (t) => {
  for (const text of [
    '',
    PUBLIC.replace('Peter', 'Petra'),
    PUBLIC.replace('c74f', 'c74e'),
    PUBLIC.replace('ARpc', 'ARpd'),
    SECRET,
  ]) {
    t.equal(parseNoteVerifier(text), undefined, text)
  }
  for (const text of ['', SECRET.replace('AYEK', 'AYEL'), SECRET.replace('AYEK', 'BYEK'), PUBLIC]) {
    t.equal(parseNoteSigner(text), undefined, text)
  }
})

t.test('a checkpoint is three lines, signed under the name of its log', async (t) => {
  const root = Buffer.from('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', 'base64')
  const checkpoint = signCheckpoint({ size: 20852163, root }, signer)
  t.match(checkpoint.note, /^PeterNeumann\n20852163\nCsUYapGGPo4dkMgIAUqom\/Xajj7h2fB2MPA3j2jxq2I=\n\n— PeterNeumann /)
  t.strictSame(openCheckpoint(checkpoint.note, verifier), checkpoint)
  for (const text of [
    'another.log\n5\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
    'PeterNeumann\n05\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n',
    'PeterNeumann\n5\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n',
    'PeterNeumann\n5\n',
    TEXT,
  ]) {
    t.equal(openCheckpoint(signNote(text, [signer]), verifier), null, text)
  }
})

t.test('the old key is valid up to a handover and the new key from it on, whichever of them is trusted', async (t) => {
  const key = () => parseNoteSigner(makeNoteKey(() => 'example.com/log')) as NoteSigner
  const [one, two, three, thief] = [key(), key(), key(), key()]
  const head = (size: number) => ({ size, root: Buffer.alloc(32, size) })
  const signed = (size: number, by: NoteSigner) => signCheckpoint(head(size), by).note
  const first = signRotation(head(10), one, two)
  const second = signRotation(head(20), two, three)
  const notes = [signed(5, one), first.note, signed(15, two), second.note, signed(25, three)]
  for (const trusted of [one, two, three]) {
    const keys = keyHistory(trusted, notes)
    for (const note of [...notes, signed(10, one), signed(10, two)]) t.ok(keys.open(note), note)
    t.strictSame(keys.open(first.note)?.root, head(10).root)
    for (const note of [signed(11, one), signed(9, two), signed(21, two), signed(19, three), signed(5, thief)]) {
      t.equal(keys.open(note), null, note)
    }
  }
  t.equal(keyHistory(one, notes).successor?.encoded, two.encoded)
  t.equal(keyHistory(three, notes).successor, null)
  t.equal(keyHistory(one, []).open(first.note)?.size, 10, 'the old key verifies the checkpoint without the history')
  t.equal(keyHistory(one, []).open(signed(15, two)), null, 'without history the old key opens no note of the new key')

  const cosigned = `${signed(5, one)}${signed(5, thief).split('\n\n')[1]}`
  t.equal(
    keyHistory(one, [cosigned]).open(signed(6, thief)),
    null,
    'a second signature on a note does not add its key to the history',
  )
  const unsigned = signRotation(head(10), one, thief).note.split('\n').slice(0, -2).join('\n')
  t.equal(keyHistory(one, [`${unsigned}\n`]).open(signed(11, thief)), null, 'an unsigned handover does not add a key')
  const stolen = signRotation(head(30), one, thief).note
  t.throws(() => keyHistory(one, [...notes, stolen]), { message: /contradict each other/ })
  t.equal(
    keyHistory(
      three,
      [...notes, stolen].filter((note) => note !== first.note),
    ).open(signed(31, thief)),
    null,
  )
})

t.test('the bytes of a signing key are wiped after import and after export', async (t) => {
  const joined: Buffer[] = []
  const concat = Buffer.concat
  t.intercept(Buffer, 'concat', {
    value: (...args: Parameters<typeof Buffer.concat>) => {
      const bytes = concat(...args)
      joined.push(bytes)
      return bytes
    },
  })
  const secret = makeNoteKey(() => 'example.com/log')
  t.ok(parseNoteSigner(secret))
  // PRIVATE+KEY+<name>+<hash>+<base64, which may contain a plus sign>.
  const seed = Buffer.from(secret.split('+').slice(4).join('+'), 'base64').subarray(1)
  t.equal(seed.length, 32)
  t.ok(joined.length > 1)
  t.notOk(joined.some((bytes) => bytes.includes(seed)))
})

t.test('an event is named by its stream and its version, and by nothing else', async (t) => {
  const name = { streamId: 'asset-acme-eip155:1/erc20:0xdAC17F958D2ee523a2206206994597C13D831ec7', streamVersion: 12 }
  t.equal(eventIdOf(name), `evt_${name.streamId}.12`)
  t.strictSame(parseEventId(eventIdOf(name)), name)
  t.strictSame(parseEventId('evt_chain-a.b.3'), { streamId: 'chain-a.b', streamVersion: 3 })
  for (const id of [
    '',
    'evt_',
    'evt_wallet-1',
    'evt_wallet-1.0',
    'evt_wallet-1.01',
    'evt_wallet-1.2147483648',
    'wallet-1.1',
  ]) {
    t.equal(parseEventId(id), undefined, id)
  }
})
