/// The reason why an export failed.
public enum ExportError: Error, Sendable, CustomStringConvertible {
    /// The requested data does not exist or is not available, with a message for the user.
    case invalid(String)

    public var description: String {
        switch self {
        case .invalid(let reason): reason
        }
    }
}
