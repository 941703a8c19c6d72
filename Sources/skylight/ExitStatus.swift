/// The exit status of a failed command, with numbers from sysexits.h.
enum ExitStatus: Int32 {
    case failed = 1
    case usage = 64
    case badData = 65
    case noInput = 66
    case unavailable = 69
    case cannotCreate = 73
    case cannotWrite = 74
    case tryAgain = 75
    case notPermitted = 77

    /// The `code` of JSON errors without a protocol error code.
    var code: String {
        switch self {
        case .failed: "FAILED"
        case .usage: "USAGE"
        case .badData: "BAD_DATA"
        case .noInput: "NO_INPUT"
        case .unavailable: "ADDRESS_NOT_AVAILABLE"
        case .cannotCreate: "DATA_FOLDER_NOT_USABLE"
        case .cannotWrite: "FILE_NOT_WRITABLE"
        case .tryAgain: "DATA_FOLDER_IN_USE"
        case .notPermitted: "ACCESS_DENIED"
        }
    }
}
