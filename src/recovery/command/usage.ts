/** The usage text of `npm run recovery`, and the error for wrong usage. */

export const RECOVERY_USAGE = `usage: npm run recovery -- <command> [--json]

  keygen --out FILE           create an age identity, as age-keygen does, and print its recipient
  backup --out DIR --recipient AGE1 [--recipient AGE1 …] [--part NAME …] [--tenant NAME] [--force]
                              make a kit of the secrets on this machine, or add parts to a kit;
                              NAME: hd, party-1, party-2 … (default: all on this machine)
  verify --kit DIR [--kit DIR …] --identity FILE [--identity FILE …] [--against-database]
                              check that a kit restores its wallets; changes nothing and works without the service
  restore --kit DIR … --identity FILE … [--tenant NAME]
                              restore the seeds of hd wallets into the keystore of this machine; never replaces a seed
  sweep --kit DIR … --identity FILE … --wallet ADDRESS --to ADDRESS --chain-id N --nonce N --gas-limit N
        --max-fee-per-gas WEI --max-priority-fee-per-gas WEI and one of:
          --value WEI                        send this amount of the native currency
          --balance WEI                      send the whole balance except the highest cost of the gas
          --token ADDRESS --amount UNITS     send base units of an ERC-20 token
          --data 0x… [--value WEI]           call the contract at --to
                              sign one transaction without the service and print it; sends nothing

N, WEI and UNITS: decimal digits, or 0x and hex digits as nodes return them
FILE of --identity: - for standard input, as in "age -d identity.age | npm run recovery -- verify … --identity -"
exit codes: 0 done, 1 refused, a share is missing or a wallet is not restored, 2 wrong usage, 3 the database or the keystore does not answer
`

export class WrongUsage extends Error {}
