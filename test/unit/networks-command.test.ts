/** `bursar networks`: what the nodes of each configured chain say now. */
import t from 'tap'
import type { RpcReader } from '../../src/chain/json-rpc.ts'
import { networksCommand } from '../../src/operator/networks-command.ts'
import type { OperatorContext } from '../../src/operator/operator-context.ts'
import { runCommandLine } from '../support/cli.ts'
import { createForkNode } from '../support/fork-node.ts'

const DOWN: RpcReader = {
  batch: async (requests) =>
    requests.map(() => ({
      ok: false,
      error: { kind: 'unavailable', reason: 'timeout', message: 'no response in time' },
    })),
}

/** The command on chains of these nodes, by network. */
function run(nodes: Readonly<Record<string, RpcReader>>, line = 'networks') {
  const chains = Object.entries(nodes).map(([network, client], index) => ({
    settings: {
      network,
      environment: 'mainnet',
      chainId: index + 1,
      confirmations: 12,
      maxFeePerGasWei: 1n,
      minTipWei: 1n,
      maxTipWei: 1_000_000_000_000n,
    },
    client,
    capSetting: 'CAP',
    urlsSetting: 'URLS',
    relayed: null,
  }))
  const ports = { chains } as unknown as OperatorContext
  return runCommandLine([networksCommand((task) => task(ports))], line)
}

t.test('each network is listed with its newest block, its fork and what that was read from', async (t) => {
  const old = createForkNode('osaka')
  old.hasConfig = false
  const ran = await run({ ethereum: createForkNode('amsterdam'), polygon: old })
  t.equal(ran.code, 0)
  t.match(ran.out, /^network +chain +block +confirmations +fork +read from +next fork\n/)
  t.match(ran.out, /^ethereum +1 +16 +12 +amsterdam +eth_config +-$/m)
  t.match(ran.out, /^polygon +2 +16 +12 +osaka +header +-$/m)
  t.equal(ran.err, '')
})

t.test('the JSON has the documented fields, and the time of the next fork', async (t) => {
  const node = createForkNode('osaka')
  node.nextForkAt = 1_790_000_000
  const { code, out } = await run({ ethereum: node }, 'networks --json')
  t.equal(code, 0)
  t.strictSame(JSON.parse(out), [
    {
      network: 'ethereum',
      chain_id: 1,
      block: 16,
      confirmations: 12,
      fork: 'osaka',
      source: 'eth_config',
      problem: null,
      next_fork_at: '2026-09-21T14:13:20.000Z',
    },
  ])
})

t.test('an unknown fork is a problem with its reason, and asks for a newer version', async (t) => {
  const ran = await run({ ethereum: createForkNode('later'), polygon: createForkNode('osaka') })
  t.equal(ran.code, 1)
  t.match(ran.out, /^ethereum .* unknown /m)
  t.match(ran.err, /ethereum: the header has the field executionWitnessHash, .* Update Bursar\./)
})

t.test('a network without a node that answers has the code of an outage, and the others are still told', async (t) => {
  const ran = await run({ ethereum: DOWN, polygon: createForkNode('osaka') })
  t.equal(ran.code, 3)
  t.match(ran.err, /No node of ethereum answers: no response in time\./)
  t.match(ran.out, /^ethereum +1 +- +12 +- +- +-$/m)
  t.match(ran.out, /^polygon .* osaka /m)
})
