/** The processes as composed: the API serves metadata and pins it, the dispatcher keeps it on IPFS. */
import t, { type Test } from 'tap'
import { composeApi } from '../../src/compose/api.ts'
import { startDispatcher } from '../../src/compose/dispatcher.ts'
import { composeKernel } from '../../src/compose/kernel.ts'
import { loadConfig } from '../../src/compose/load-config.ts'
import { contentOf, contentRows, metadataUri } from '../../src/nft/metadata/content.ts'
import { pinOn } from '../../src/nft/metadata/pin.ts'
import { pinMetadata } from '../../src/nft/metadata/pin-metadata.ts'
import { startKubo } from '../support/kubo.ts'
import { withDatabase } from '../support/postgres.ts'
import { eventually } from '../support/sandbox-eventually.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const CONTENT = [1, 2, 3].map((n) => contentOf({ name: `Lighthouse #${n}` }))
const [FIRST = contentOf({ name: '' })] = CONTENT

async function withConfig(t: Test, env: Record<string, string>) {
  const { url } = await withDatabase(t)
  return loadConfig({
    DATABASE_URL: url,
    LOG_LEVEL: 'fatal',
    DATABASE_POOL_SIZE: '4',
    SWEEP_INTERVAL_MS: '100',
    LEASE_MS: '1000',
    SHUTDOWN_GRACE_MS: '2000',
    ...env,
  })
}

t.test('the dispatcher pins metadata that was minted while the IPFS node failed, and counts pins', async (t: Test) => {
  const kubo = await startKubo(t, { authorization: 'Bearer abc' })
  kubo.fail('errors')
  const config = await withConfig(t, { IPFS_API_URL: `${kubo.url}/`, IPFS_API_AUTHORIZATION: 'Bearer abc' })
  const kernel = composeKernel(config, 'dispatcher')
  await kernel.log.append({ decisions: [], rows: CONTENT.flatMap((content) => contentRows(content, NOW)) })
  const stop = new AbortController()
  const work = await startDispatcher(kernel, stop.signal)
  t.after(async () => {
    stop.abort()
    await work.drain()
    await kernel.close()
  })
  const metrics = () => kernel.metrics.registry.metrics()
  const counted = (outcome: string, atLeast: number) =>
    eventually(async () => {
      const line = new RegExp(`^bursar_ipfs_pin_duration_seconds_count\\{.*outcome="${outcome}".*\\} (\\d+)$`, 'm')
      return Number(line.exec(await metrics())?.[1] ?? 0) >= atLeast
    })
  t.ok(await counted('failed', 1), 'a failed pin is counted')
  t.match(await metrics(), /^bursar_ipfs_pins_pending\{process="dispatcher"\} 3$/m)
  kubo.fail(null)
  await eventually(async () => {
    // A failed pin is postponed for minutes, and one in progress is about to fail.
    await kernel.pool.query('UPDATE nft_pins SET due_at = $1', [NOW])
    return kubo.pinned.size === CONTENT.length
  })
  t.strictSame([...kubo.pinned.keys()].sort(), CONTENT.map(({ cid }) => cid).sort())
  await eventually(async () => /^bursar_ipfs_pins_pending\S* 0$/m.test(await metrics()))
  // More than one each: the update above makes confirmed pins due again.
  t.ok(await counted('pinned', CONTENT.length), 'each pin is counted')
})

t.test('the API serves metadata without a key, and pins metadata on the configured IPFS node', async (t: Test) => {
  const kubo = await startKubo(t)
  const config = await withConfig(t, {
    IPFS_API_URL: kubo.url,
    METADATA_BASE_URL: 'https://wallets.example/v1/nft/metadata/',
  })
  const kernel = composeKernel(config, 'api')
  const { app } = await composeApi(kernel, '0.0.0-test')
  t.after(async () => {
    await app.close()
    await kernel.close()
  })
  const ctx = { ...kernel, pin: pinOn(kernel) }
  await pinMetadata(ctx, [FIRST])
  t.strictSame([...kubo.pinned.keys()], [FIRST.cid])
  await kernel.log.append({ decisions: [], rows: contentRows(FIRST, NOW) })
  const answer = await app.inject({ url: new URL(metadataUri(kernel.config.metadataBaseUrl, FIRST.cid)).pathname })
  t.equal(answer.statusCode, 200)
  t.equal(answer.payload, FIRST.text)
  await kubo.stop()
  await t.rejects(pinMetadata(ctx, CONTENT), { code: 'ipfs_unavailable' })
})
