/** What `npm start` prints when it is ready: commands that show events and make a first transfer. */
import { printText } from '../cli/printed.ts'
import type { Addition } from './addition.ts'
import { ADDITIONS } from './additions.ts'

const exposure = (host: string) => `
  ! HOST is ${host}: everybody who reaches this machine reaches this sandbox, over plain HTTP. Who has the key above can do everything
    with it and take from the faucet, and /docs, /healthz and /readyz need no key. HOST=127.0.0.1 ends that.
`

/**
 * Only curl and sed are needed.
 *
 * @param usable the additions that are on, and that the chains lack nothing for
 */
export function printWelcome({
  baseUrl,
  apiKey,
  dataDir,
  usable,
  exposedHost,
}: {
  readonly baseUrl: string
  readonly apiKey: string
  readonly dataDir: string
  readonly usable: readonly Addition[]
  /** The address that others can reach; `null` on loopback. */
  readonly exposedHost: string | null
}): void {
  printText(
    process.stdout,
    `
Ready: ${baseUrl}   API reference: ${baseUrl}/docs   logs: ${dataDir}/logs

To watch events as they happen, paste this into a second shell:

  curl -sN ${baseUrl}/v1/events -H 'Authorization: Bearer ${apiKey}' -H 'Accept: text/event-stream'
${ADDITIONS.map(({ listening }) => listening?.(baseUrl, apiKey) ?? '').join('')}
To make a first transfer, paste this into a third shell:

  export URL=${baseUrl} KEY=${apiKey}
  api() { curl -s -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' "$@"; echo; }
  field() { sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }

  # create a wallet and fund it with 10 test ETH
  W=$(api $URL/v1/wallets/create -d '{"type":"hd","network":"ethereum","label":"first","environment":"mainnet"}')
  WALLET=$(echo "$W" | field wallet_id); ADDRESS=$(echo "$W" | field address); echo "$W"
  api $URL/v1/sandbox/faucet -d '{"address":"'$ADDRESS'","network":"ethereum","asset":"ETH","amount":"10"}'

  # send 0.5 ETH, then get the status of the transfer and the balance
  T=$(api $URL/v1/wallets/$WALLET/transfer -d '{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","amount":"0.5","asset":"ETH","gas_priority":"medium"}')
  TX=$(echo "$T" | field transaction_id); echo "$T"
  sleep 4; api $URL/v1/wallets/$WALLET/transactions/$TX; api $URL/v1/wallets/$WALLET/balance
${usable.map(({ trying = '' }) => trying).join('')}${exposedHost === null ? '' : exposure(exposedHost)}
Ctrl-C stops everything. npm start -- --reset deletes all data and starts again.
`,
  )
}
