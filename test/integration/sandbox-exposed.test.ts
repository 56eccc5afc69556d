/** A sandbox that others can reach says so, and what it says is true: the printed key and the faucet answer them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { printWelcome } from '../../src/sandbox/welcome.ts'
import { printedBy } from '../support/printed-by.ts'
import { eventually } from '../support/sandbox-eventually.ts'
import { startService } from '../support/service.ts'

const EXPOSED = /^ {2}! HOST is (\S+): everybody who reaches this machine reaches this sandbox, over plain HTTP\./m

t.test('on loopback nothing is said of others', async (t) => {
  const welcome = { baseUrl: 'http://127.0.0.1:3000', apiKey: 'bk_1', dataDir: '.data', usable: [] }
  const printed = (exposedHost: string | null) => printedBy(t, async () => printWelcome({ ...welcome, exposedHost }))
  t.notMatch(await printed(null), /HOST/)
  t.match(await printed('::'), EXPOSED)
})

t.test('with HOST=0.0.0.0 the output says that the key and the faucet are reachable, and they are', async (t) => {
  const service = await startService({ env: { HOST: '0.0.0.0' } })
  t.teardown(() => service.close())
  const printed = () => readFileSync(join(service.directory, 'sandbox.log'), 'utf8')
  // The state file is written before the commands are printed.
  const [, host] = await eventually(() => EXPOSED.exec(printed()))
  t.equal(host, '0.0.0.0')
  t.match(printed(), /Who has the key above can do everything\s+with it and take from the faucet/)
  t.match(printed(), /\/docs, \/healthz and \/readyz need no key\. HOST=127\.0\.0\.1 ends that\./)

  const [, key = ''] = /export URL=\S+ KEY=(\S+)/.exec(printed()) ?? []
  const { port } = new URL(service.state().base_url)
  /** By an address of this machine that a server on 127.0.0.1 does not have. */
  const from = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.2:${port}${path}`, init)
  const authorized = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  t.equal((await from('/v1/wallets', { headers: authorized })).status, 200)
  const body = { address: `0x${'ab'.repeat(20)}`, network: 'ethereum', asset: 'ETH', amount: '1' }
  const faucet = { method: 'POST', body: JSON.stringify(body) }
  await from('/v1/sandbox/faucet', { ...faucet, headers: authorized })
  const { rpc_url } = service.state().networks.ethereum
  // On a slow machine the answer comes before the payment.
  await eventually(async () => {
    const balance = (await callRpc(rpc_url, 'eth_getBalance', [body.address, 'latest'])) as string
    return BigInt(balance) === 10n ** 18n
  })
  const keyless = await from('/v1/sandbox/faucet', { ...faucet, headers: { 'content-type': 'application/json' } })
  t.equal(keyless.status, 401)
  // 503 is an answer of /readyz too, on a slow machine.
  for (const path of ['/docs', '/healthz', '/readyz'])
    t.notOk([401, 403, 404].includes((await from(path)).status), path)
})
