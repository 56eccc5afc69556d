/** The gas of collections: within the limits, as documented, and never above the formulas. */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { toQuantity } from '../../src/chain/hex.ts'
import { collectionSalt, deployCollection } from '../../src/nft/contracts/collection.ts'
import {
  encodeFreeze,
  encodeMintBatch,
  encodeRevoke,
  encodeSafeBatchTransfer,
  encodeSafeTransfer,
  encodeSetTokenDigest,
} from '../../src/nft/contracts/encode-calls.ts'
import { ensureFactory } from '../../src/nft/contracts/ensure-factory.ts'
import { deployGas, freezeGas, mintGas, tokenUpdateGas, transferGas } from '../../src/nft/contracts/gas.ts'
import { NFT_GAS } from '../../src/nft/contracts/gas-rules.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { GAS_MARGIN_PERCENT } from '../../src/transactions/estimate-gas.ts'
import { withAnvil } from '../support/anvil.ts'
import { OSAKA } from '../support/gas.ts'
import { collectionConfig, digestOf, strangerOf, withNftChain } from '../support/nft-chain.ts'
import { GAS_COLUMNS, type GasLife, gasOfBaselines, gasOfCollection } from '../support/nft-gas.ts'

/** Maximum gas of a transaction. */
const LIMITS = { deploy: 350_000, mint: 100_000, batch: 52_000 }
const BOTH = ['ERC721', 'ERC1155'] as const

t.test('a deployment, a mint and a batch cost as much gas as the documentation states', async (t) => {
  const chain = await withNftChain(t)
  const measured: Readonly<Record<string, GasLife>> = {
    'Bursar ERC-721': await gasOfCollection(chain, {}),
    'Bursar ERC-721, max supply': await gasOfCollection(chain, { maxSupply: 10_000 }),
    'Bursar ERC-1155': await gasOfCollection(chain, { standard: 'ERC1155' }),
    ...(await gasOfBaselines(chain)),
  }
  const costs = (name: string, column: keyof GasLife) => measured[name]?.[column] ?? Number.NaN
  for (const name of ['Bursar ERC-721', 'Bursar ERC-721, max supply', 'Bursar ERC-1155']) {
    t.ok(costs(name, 'deploy') <= LIMITS.deploy, `a deployment of ${name} stays within the gas limit`)
    t.ok(costs(name, 'mintToNewHolder') <= LIMITS.mint, `a mint of ${name} stays within the gas limit`)
    t.ok(costs(name, 'batchToHolder') <= LIMITS.batch, `a batch of ${name} stays within the gas limit`)
    const bound = mintGas(OSAKA, name.includes('1155') ? 'ERC1155' : 'ERC721', 'STANDARD', 1)
    const withMargin = (BigInt(costs(name, 'mintToNewHolder')) * GAS_MARGIN_PERCENT) / 100n
    t.ok(withMargin <= bound, `a mint of ${name} needs no estimate: ${withMargin} of ${bound} gas with the margin`)
    const spared = costs(name, 'redeem') - costs(name, 'redemptionByOwner')
    t.ok(spared > 8_000, `a redemption of ${name} by its owner verifies no signature, which spares ${spared} gas`)
  }
  t.ok(costs('Bursar ERC-1155', 'batchToNewHolders') <= LIMITS.batch, 'a batch to new holders is within the limit')
  const page = readFileSync(new URL('../../docs/records/nft-gas.md', import.meta.url), 'utf8')
  for (const [name, life] of Object.entries(measured)) {
    const row = `| ${[name, ...GAS_COLUMNS.map((column) => written(life[column]))].join(' | ')} |`
    t.ok(page.includes(row), `docs/records/nft-gas.md has the row ${row}`)
  }
})

t.test('every call passes with the gas of its formula, in its dearest case', async (t) => {
  const chain = await withNftChain(t)
  const passes = async (from: string, call: { to: string; data: string }, limit: bigint, what: string) => {
    const { ok, gasUsed } = await chain.send(from, { ...call, gas: toQuantity(limit) })
    t.ok(ok, `${what}: the call used ${gasUsed} of ${limit} gas`)
    t.ok(BigInt(gasUsed) * 2n > limit, `${what}: the limit is at most twice the gas used`)
  }
  const long = { name: 'N'.repeat(255), symbol: 'S'.repeat(255), baseUri: `https://example.com/${'b'.repeat(980)}/` }
  for (const standard of BOTH) {
    const config = { ...collectionConfig(chain.owner), ...long, standard, contractDigest: digestOf(0) }
    await passes(
      chain.owner,
      deployCollection(config, collectionSalt('long')),
      deployGas(OSAKA, config),
      'long deployment',
    )
    const short = { ...config, name: 'A', symbol: 'B', baseUri: '' }
    await passes(
      chain.owner,
      deployCollection(short, collectionSalt('short')),
      deployGas(OSAKA, short),
      'short deployment',
    )

    const series = await chain.collection({ standard, kind: 'SERIES', maxSupply: 1_000, transferable: false })
    // High ids and full words cost the most; each call leaves gaps.
    for (const [firstId, count] of [
      [1_000_000n, 1],
      [2_000_000n, 2],
      [3_000_000n, 100],
    ] as const) {
      const tokens = Array.from({ length: count }, (_, i) => ({
        recipient: strangerOf(Number(firstId) + i),
        amount: standard === 'ERC721' ? 1n : 2n ** 255n,
        digest: digestOf(i),
      }))
      const data = encodeMintBatch(standard, firstId, tokens)
      await passes(
        chain.owner,
        { to: series.address, data },
        mintGas(OSAKA, standard, 'SERIES', count),
        `${standard} of ${count}`,
      )
    }

    for (const baseUri of ['', long.baseUri]) {
      const { address: to, mint } = await chain.collection({ standard, kind: 'DYNAMIC', baseUri })
      await mint(1, chain.alice)
      const update = { to, data: encodeSetTokenDigest(1n, digestOf(9)) }
      await passes(chain.owner, update, tokenUpdateGas(OSAKA, standard, baseUri), 'update')
      await passes(chain.owner, { to, data: encodeFreeze(1n) }, freezeGas(OSAKA, standard, baseUri), 'freeze')
    }

    const { address: to, mint, request } = await chain.collection({ standard })
    for (const id of [1, 2, 3]) await mint(id, chain.alice, standard === 'ERC721' ? 1n : 9n)
    await passes(chain.owner, { to, data: encodeRevoke(2n ** 256n - 1n) }, NFT_GAS.up_to_osaka.revoke, 'revoke')
    if (standard === 'ERC721') await chain.send(chain.alice, request('approve', chain.bob, 1))
    const move = { from: chain.alice, to: strangerOf(9), tokenId: 1n, amount: 1n }
    await passes(
      chain.alice,
      { to, data: encodeSafeTransfer(standard, move) },
      transferGas(OSAKA, standard, 1),
      'transfer',
    )
    if (standard === 'ERC721') continue
    const items = [1n, 2n, 3n].map((tokenId) => ({ tokenId, amount: 1n }))
    const many = { to, data: encodeSafeBatchTransfer(chain.alice, strangerOf(8), items) }
    await passes(chain.alice, many, transferGas(OSAKA, standard, items.length), 'batch transfer')
  }
})

t.test('the factory passes with its gas', async (t) => {
  const { url } = await withAnvil(t, { mining: 'call' })
  const [from] = (await callRpc(url, 'eth_accounts')) as string[]
  const hash = await callRpc(url, 'eth_sendTransaction', [
    { from, gas: toQuantity(NFT_GAS.up_to_osaka.wholeFactory), ...ensureFactory('WHOLE', collectionSalt('col_1')) },
  ])
  await callRpc(url, 'evm_mine')
  const { status, gasUsed } = (await callRpc(url, 'eth_getTransactionReceipt', [hash])) as Record<string, string>
  t.equal(status, '0x1')
  t.ok(BigInt(gasUsed ?? 0) * 3n > NFT_GAS.up_to_osaka.wholeFactory * 2n)
})

function written(gas: number | null): string {
  return gas === null ? '' : Math.round(gas).toLocaleString('en-US')
}
