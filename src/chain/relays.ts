/**
 * The private relays of a chain. Each of them gets the same bytes, whatever the others say, and the answer of each is
 * kept apart: a relay promises nothing, so no single answer means anything for the others.
 */
import { createRpcClient, type RpcClient, type RpcClientOptions } from './rpc-client.ts'
import type { RpcLog } from './rpc-endpoint.ts'
import type { Submission } from './rpc-errors.ts'
import type { RpcBatchLimits } from './settings.ts'

/** Relays accept one transaction at a time. */
const RELAY_BATCH: RpcBatchLimits = { maxCalls: 1, maxBytes: 500_000 }

export type RelayAnswer = Submission & {
  /** Host and port of the relay. */
  readonly host: string
}

/** @param hosts of the relays that get the bytes */
export type RelayedBytes = { readonly raw: string; readonly hosts: readonly string[] }

export type Relays = {
  /** Each once, in the order of the setting. */
  readonly hosts: readonly string[]
  /**
   * Sends to all relays at once, to each in the given order. Never throws.
   *
   * @param items consecutive nonces of a sender in ascending order
   * @returns for each item the answers of its relays
   */
  readonly send: (items: readonly RelayedBytes[]) => Promise<readonly (readonly RelayAnswer[])[]>
  readonly close: () => void
}

/** Host and port of each URL, once: what may be recorded and shown of URLs that contain keys. */
export function relayHosts(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.map(hostOf))]
}

export function createRelays(urls: readonly string[], options: Omit<RpcClientOptions, 'urls'>): Relays {
  const relays = urls.map((url, index) => ({ host: hostOf(url), client: createRelay(url, index, options) }))
  return {
    hosts: relayHosts(urls),
    async send(items) {
      const heard = await Promise.all(relays.map((relay) => sendTo(relay, items)))
      return items.map((item) => heard.flatMap((answers) => answers.get(item) ?? []))
    },
    close: () => {
      for (const { client } of relays) client.close()
    },
  }
}

type Relay = { readonly host: string; readonly client: RpcClient }

async function sendTo(
  { host, client }: Relay,
  items: readonly RelayedBytes[],
): Promise<ReadonlyMap<RelayedBytes, RelayAnswer>> {
  const own = items.filter(({ hosts }) => hosts.includes(host))
  const answers = await client.sendRawTransactions(own.map(({ raw }) => raw))
  return new Map(
    own.flatMap((item, index) => {
      const answer = answers[index]
      return answer === undefined ? [] : [[item, { host, ...answer }] as const]
    }),
  )
}

/** Many relays know no other method than the one that sends. Log lines and metrics say which relay it is. */
function createRelay(url: string, index: number, options: Omit<RpcClientOptions, 'urls'>): RpcClient {
  const { log, onExchange } = options
  const marked = (level: keyof RpcLog) => (fields: Record<string, unknown>, message: string) =>
    log[level]({ ...fields, endpoint: index, relay: true }, message)
  return createRpcClient({
    ...options,
    urls: [url],
    onlySends: true,
    batch: RELAY_BATCH,
    log: { info: marked('info'), warn: marked('warn'), error: marked('error') },
    ...(onExchange ? { onExchange: (observation) => onExchange({ ...observation, endpoint: index }) } : {}),
  })
}

function hostOf(url: string): string {
  return new URL(url).host
}
