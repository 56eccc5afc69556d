/**
 * One of several nodes lies about how many transactions an account has sent, or is silent: each transfer is paid once, with the
 * next nonce of its wallet, and nothing is paid to fill a gap that there is not.
 */
import t from 'tap'
import type { HeldCause } from '../../src/transactions/held-cause.ts'
import { type AlteredNode, withAlteredNode } from '../support/altered-node.ts'
import type { LoadWallet } from '../support/load.ts'
import { matchExactly } from '../support/match-exactly.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { onChain, type Stage, withStage } from '../support/service-stage.ts'

const WEI = 10n ** 12n

async function fillers({ service: { pool } }: Stage): Promise<number> {
  const { rows } = await pool.query("SELECT FROM transactions WHERE type = 'NONCE_FILL'")
  return rows.length
}

async function heldBy({ service: { pool } }: Stage, { address }: LoadWallet): Promise<HeldCause | null> {
  const { rows } = await pool.query<{ cause: HeldCause }>('SELECT cause FROM held_lanes WHERE address = $1', [address])
  return rows[0]?.cause ?? null
}

t.test(
  'one of three that says 200 more, or more than any account has sent, is named and costs only time',
  async (t) => {
    const nodes: AlteredNode[] = []
    const stage = await withStage(t, {
      nodes: async (url) => {
        for (let i = 0; i < 3; i++) nodes.push(await withAlteredNode(t, () => url))
        return nodes.map((node) => node.url)
      },
    })
    const [liar] = nodes as [AlteredNode]
    const wallets = (await stage.service.makeWallets(2)) as [LoadWallet, LoadWallet]
    const lies = [(count: number) => count + 200, () => 2 ** 53]
    for (const [i, lie] of lies.entries()) {
      const wallet = wallets[i] as LoadWallet
      const ids = [await stage.send(wallet, '0.000001')]
      await stage.settle()
      liar.alter = ({ method }, result) =>
        method === 'eth_getTransactionCount' ? `0x${lie(Number(result)).toString(16)}` : result
      ids.push(await stage.send(wallet, '0.000002'))
      if (i === 0) {
        const cause = await eventually(() => heldBy(stage, wallet))
        matchExactly(t, cause, { kind: 'count_doubted', hosts: [new URL(liar.url).host], explained: 1 })
        t.match(await stage.read(wallet, ids[1] ?? ''), { state: 'requested', nonce: null })
        liar.alter = (_call, result) => result
      }
      await stage.settle()
      liar.alter = (_call, result) => result
      const views = await Promise.all(ids.map((id) => stage.read(wallet, id)))
      t.strictSame(
        views.map(({ state, nonce, hashes }) => [state, nonce, hashes.length]),
        [
          ['confirmed', 0, 1],
          ['confirmed', 1, 1],
        ],
      )
      t.strictSame(
        (await onChain(stage, wallet)).map(({ nonce, amount }) => [nonce, amount]),
        [
          [0, WEI],
          [1, 2n * WEI],
        ],
      )
    }
    t.equal(await fillers(stage), 0)
  },
)

t.test('with one of two silent, a wallet goes on with its own nonces and is sent from', async (t) => {
  const nodes: AlteredNode[] = []
  const stage = await withStage(t, {
    nodes: async (url) => {
      for (let i = 0; i < 2; i++) nodes.push(await withAlteredNode(t, () => url))
      return nodes.map((node) => node.url)
    },
  })
  const [, silent] = nodes as [AlteredNode, AlteredNode]
  const [used, fresh] = (await stage.service.makeWallets(2)) as [LoadWallet, LoadWallet]
  await stage.send(used, '0.000001')
  await stage.settle()
  silent.isSilent = true
  const second = await stage.send(used, '0.000002')
  const first = await stage.send(fresh, '0.000003')
  t.match(await stage.until(used, second, 'submitted'), { nonce: 1 })
  await stage.mine()
  t.equal((await onChain(stage, used)).length, 2, 'it is mined')
  await eventually(async () => (await heldBy(stage, fresh))?.kind === 'too_few_nodes')
  t.match(await stage.read(fresh, first), { state: 'requested' }, 'no first nonce is given')
  silent.isSilent = false
  await stage.settle()
  t.match(await stage.read(fresh, first), { state: 'confirmed', nonce: 0 })
  t.match(await stage.read(used, second), { state: 'confirmed', nonce: 1 })
})

t.end()
