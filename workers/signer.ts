/** Signs the transactions of lanes and creates wallets' keys. Run any number: lanes are independent. */
import { runProcess } from '../src/compose/run-process.ts'
import { startSigner } from '../src/compose/signer.ts'

await runProcess('signer', startSigner, process.env)
