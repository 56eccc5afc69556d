/**
 * kill -9 during mints: of all processes that work on them, and then of everything with the parent. Each requested mint
 * exists once, and its token was minted once on chain.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { id as topicOf } from 'ethers/hash'
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { accepted } from '../support/client.ts'
import { untilSettled } from '../support/load-settle.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { startService } from '../support/service.ts'

const MINTS = 500
const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const TRANSFER = topicOf('Transfer(address,address,uint256)')
const FROM_NOBODY = `0x${'0'.repeat(64)}`
const WORKERS = ['api', 'dispatcher', 'signer', 'submitter', 'chain-follower', 'postgres']

t.test(`kill -9 during ${MINTS} mints loses and doubles nothing`, async (t) => {
  const service = await startService()
  t.after(() => service.close())
  const { api } = service
  const created = await api.send('/v1/nft/collections/create', { name: 'Killed', symbol: 'KILL' })
  const { collection_id: collectionId, contract_address: address } = await api.settle(created)
  // A kill loses what the chain has not saved: first it saves the collection and its owner's funds.
  const state = join(service.directory, 'data', 'chains', 'ethereum', 'state.json')
  await eventually(async () => {
    await sleep(500)
    return (await readFile(state, 'utf8')).toLowerCase().includes(String(address).toLowerCase())
  })

  const mint = (n: number) =>
    api.send(
      '/v1/nft/mint',
      { collection_id: collectionId, recipient: RECIPIENT, metadata: { name: `Token ${n}` } },
      `mint-${n}`,
    )
  let count = 0
  const asked = Array.from({ length: MINTS }, async (_, n) => {
    const { mint_id } = accepted(await mint(n))
    count += 1
    return mint_id as string
  })
  await eventually(() => count > MINTS / 10)
  for (const name of WORKERS) t.ok(service.kill(name), `${name} is killed`)
  await eventually(() => count > MINTS / 2)
  await service.killAll()
  await service.start()

  const mintIds = await Promise.all(asked)
  t.equal(new Set(mintIds).size, MINTS, 'each request has one mint, however often it was sent')
  await untilSettled(service.state)
  const minted = await Promise.all(
    mintIds.map(async (mintId) => accepted(await api.insist({ path: `/v1/nft/mints/${mintId}` }))),
  )
  t.strictSame(new Set(minted.map(({ status }) => status)), new Set(['MINTED']))
  const tokens = minted.map(({ token_id }) => Number(token_id))
  const byNumber = tokens.toSorted((a, b) => a - b)
  t.equal(new Set(byNumber).size, MINTS, 'each mint has its own token')

  const logs = (await callRpc(service.state().networks.ethereum.rpc_url, 'eth_getLogs', [
    { address, fromBlock: '0x0', toBlock: 'latest', topics: [TRANSFER, FROM_NOBODY] },
  ])) as { topics: string[] }[]
  t.strictSame(
    logs.map(({ topics }) => Number(topics[3])).toSorted((a, b) => a - b),
    byNumber,
    'the chain minted each token once',
  )
  if (!t.passing()) t.comment(service.lastWords())
})

t.end()
