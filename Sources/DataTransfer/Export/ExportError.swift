/// Why an export was not written.
public enum ExportError: Error, Sendable, CustomStringConvertible {
    /// What was asked for is not there, or can't be had.
    case invalid(String)

    public var description: String {
        switch self {
        case .invalid(let reason): reason
        }
    }
}
