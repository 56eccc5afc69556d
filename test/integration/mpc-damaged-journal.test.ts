/**
 * A party with a damaged journal signs nothing and says so, and the others go on. A second process of a party does not
 * start.
 */
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { goldenShares } from '../support/golden-shares.ts'
import { askToSign, builtTransfer, refusalKinds, signingItem, tagAs } from '../support/mpc-asks.ts'
import { withParties } from '../support/mpc-parties.ts'
import { type MpcWallet, withMpcStage, withPuppeteer } from '../support/mpc-stage.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const stage = await withMpcStage(t, { keys: [goldenShares(2, 3)] })
const puppeteer = await withPuppeteer(t, stage)
const [wallet] = stage.wallets as [MpcWallet]
const { service, parties } = stage
const [place] = parties.places as [(typeof parties.places)[number]]
const path = join(place.directory, 'signing.journal')

async function reported(what: RegExp): Promise<void> {
  await eventually(async () => {
    const { rows } = await service.pool.query(`SELECT problem FROM heartbeats WHERE process = 'mpc-party-1'`)
    return what.test(String(rows[0]?.problem))
  })
}

let nonce = 0

/** Asks parties to sign another transfer, with the next nonce when they do. */
async function ask(signers: readonly number[]): Promise<string[][]> {
  const id = await stage.send(wallet, '1')
  const item = signingItem(wallet, id, await tagAs(stage, id, builtTransfer({ nonce })))
  const kinds = refusalKinds(await askToSign(puppeteer, [item], signers))
  if (kinds.flat().every((kind) => kind === 'signed')) nonce += 1
  return kinds
}

async function begun(): Promise<void> {
  await parties.start(1)
  await eventually(() => puppeteer.channel.connected().includes('party-1'))
}

const signed = [['signed'], ['signed']]
await service.stopWorker('signer')

t.test('a second process of a party does not start, and the first one goes on', async (t) => {
  const second = withParties(t, service.kernel.config, parties.places)
  await t.rejects(second.start(1), { code: 'mpc_party_running', message: /is in use: process \d+ on .* has it/ })
  t.strictSame(await ask([1, 2]), signed)
  await reported(/^null$/)
})

t.test('damage while a party runs: it signs nothing, the others sign, and its heartbeat says why', async (t) => {
  const sound = await readFile(path)
  t.ok(sound.length > 0, 'the party has signed')
  await appendFile(path, 'x')
  t.strictSame((await ask([1, 2]))[0], ['unavailable'])
  t.strictSame(await ask([2, 3]), signed)
  await reported(/signing\.journal is damaged/)
  await eventually(() =>
    parties.lines.some(({ party, msg }) => party === 1 && msg === 'the signing journal is damaged'),
  )
  await parties.stop(1)
  await writeFile(path, sound)
})

t.test('a party that starts with a damaged journal does the same, until the file is restored', async (t) => {
  const sound = await readFile(path)
  const changed = Buffer.from(sound)
  changed[30] = (changed[30] ?? 0) ^ 1
  await writeFile(path, changed)
  await begun()
  t.strictSame((await ask([1, 2]))[0], ['unavailable'])
  await reported(/signing\.journal is damaged from line 1 on/)
  t.strictSame(await readFile(path), changed, 'it writes nothing')
  await parties.stop(1)
  await writeFile(path, sound)
  await begun()
  await reported(/^null$/)
  t.strictSame(await ask([1, 2]), signed)
})

t.end()
