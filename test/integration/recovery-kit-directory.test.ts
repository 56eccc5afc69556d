/** A directory of a kit that others can write to: what reading it, and adding a part to it, may not do. */
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { kitIdFor, readKits, writeKit } from '../../src/recovery/kit/kit-directory.ts'
import { kitSigner } from '../../src/recovery/kit/kit-signature.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { freshKek } from '../support/mpc-processes.ts'

const CREATED = '2026-11-26T12:00:00.000Z'

function partOf(name: string, text: string) {
  return { name, file: Buffer.from(text), recipients: ['age1one'], createdAt: CREATED }
}

async function writePart(directory: string, name: string, signer = kitSigner(freshKek()), trusted: string[] = []) {
  const kitId = await kitIdFor(directory, { names: [name], signer, trusted })
  const kit = { kitId, parts: [partOf(name, `by ${signer.key}`)], wallets: [], createdAt: CREATED, signer, trusted }
  return writeKit(directory, kit, { force: true })
}

for (const name of ['.rotation', '.added-7f1c3a9e-0000-4000-8000-000000000000']) {
  t.test(`a link ${name} in a kit moves no file of the directory that it names`, async (t) => {
    const root = t.testdir({ keystore: { kek: 'secret' } })
    const kit = join(root, 'kit')
    await writePart(kit, 'hd')
    await symlink(join(root, 'keystore'), join(kit, name))
    await readKits([kit]).catch(() => undefined)
    t.strictSame(await readdir(join(root, 'keystore')), ['kek'], 'the keystore still has its key')
    t.notOk((await readdir(kit)).includes('kek'), 'the kit did not get it')
  })
}

t.test('a folder that is a link in a kit takes no file out of the kit', async (t) => {
  const root = t.testdir({ home: {} })
  const kit = join(root, 'kit')
  await writePart(kit, 'hd')
  await symlink(join(root, 'home'), join(kit, 'shares'))
  await mkdir(join(kit, '.rotation', 'shares'), { recursive: true })
  await writeFile(join(kit, '.rotation', 'shares', 'authorized_keys'), 'of the thief')
  await readKits([kit]).catch(() => undefined)
  t.strictSame(await readdir(join(root, 'home')), [])
})

t.test('a part that a foreign key signed, or none, is not signed by whoever adds a part', async (t) => {
  const [thief, mine, other] = [kitSigner(freshKek()), kitSigner(freshKek()), kitSigner(freshKek())]
  const directory = join(t.testdir(), 'kit')
  await writePart(directory, 'hd', thief)
  const before = await readFile(join(directory, 'kit.json'), 'utf8')
  await t.rejects(writePart(directory, 'party-1', mine), { message: new RegExp(`is signed by ${thief.key}`) })
  const { signature: _, kit_id: __, ...unsigned } = JSON.parse(before)
  await writeFile(join(directory, 'kit.json'), JSON.stringify(unsigned))
  await t.rejects(writePart(directory, 'party-1', mine), { message: /is not signed/ })

  matchExactly(t, await writePart(directory, 'hd', mine), { parts: [{ name: 'hd' }], signature: { key: mine.key } })
  matchExactly(t, await writePart(directory, 'party-1', other, [mine.key]), {
    parts: [{ name: 'hd' }, { name: 'party-1' }],
  })
})

t.test('members that no kit has are a changed manifest, and no stack trace', async (t) => {
  const directory = join(t.testdir(), 'kit')
  await writePart(directory, 'hd')
  const path = join(directory, 'kit.json')
  const manifest = (await readFile(path, 'utf8')).trimEnd()
  for (const extra of ['1.5', '1e400', '9007199254740993', `${'['.repeat(20_000)}${']'.repeat(20_000)}`]) {
    await writeFile(path, `${manifest.slice(0, -1)},"extra":${extra}}`)
    matchExactly(t, await readKits([directory]), { origins: [{ signed: { state: 'broken' } }] }, extra.slice(0, 20))
  }
})
