/** The usage text of `npm run recovery`, and the error for wrong usage. */

export const RECOVERY_USAGE = `usage: npm run recovery -- <command> [--json]

  keygen --out FILE           make an age identity, as age-keygen does; prints the recipient that belongs to it
  backup --out DIR --recipient AGE1 [--recipient AGE1 …] [--part NAME …] [--tenant NAME] [--force]
                              make a kit of the secrets that are on this machine, or add parts to a kit;
                              NAME: hd, party-1, party-2 … (default: all that are here)
  verify --kit DIR [--kit DIR …] --identity FILE [--identity FILE …] [--against-database]
                              prove that a kit restores its wallets; moves nothing and needs no service
  restore --kit DIR … --identity FILE … [--tenant NAME]
                              put the seeds of hd wallets back into the keystore of this machine; replaces none that is there
  sweep --kit DIR … --identity FILE … --wallet ADDRESS --to ADDRESS --chain-id N --nonce N --gas-limit N
        --max-fee-per-gas WEI --max-priority-fee-per-gas WEI and one of
          --value WEI                        send so much of the native currency
          --balance WEI                      send all of it but what the gas may cost
          --token ADDRESS --amount UNITS     send base units of an ERC-20 token
          --data 0x… [--value WEI]           call the contract at --to
                              sign one transaction without a service, and print it; sends nothing

N, WEI and UNITS: decimal digits, or 0x and hex digits as a node answers
FILE of --identity: - for standard input, as in "age -d identity.age | npm run recovery -- verify … --identity -"
exit codes: 0 done, 1 refused, a share left out or a wallet that is not restored, 2 wrong usage, 3 the database or the keystore does not answer
`

export class WrongUsage extends Error {}
