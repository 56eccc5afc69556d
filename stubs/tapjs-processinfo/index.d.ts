export declare class ProcessInfo {}
