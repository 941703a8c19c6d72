/// An error code of CloudKit: its name, its meaning, and the remedy for a client.
///
/// The facts are from Apple's reference pages "CKError.Code" and "Error Codes" (CloudKit Web Services Reference); those of internal codes, which Apple
/// does not document, from the errors that public logs quote with them. The wording is Skylight's own.
public struct ErrorCode: Sendable, Hashable {
    /// The origin of a code.
    public enum Family: Sendable, Hashable {
        /// CloudKit.framework, in the domain CKErrorDomain.
        case framework
        /// The `serverErrorCode` of the web services.
        case server
        /// CloudKit JS itself.
        case javaScript
        /// CloudKit.framework's numbers behind the public codes, in the domain CKInternalErrorDomain.
        case `internal`
    }

    public let family: Family
    /// The number of a framework or internal code; `nil` for other families.
    public let number: Int?
    /// The name, such as `changeTokenExpired` or `ZONE_NOT_FOUND`.
    public let name: String
    /// The HTTP status of a request that failed as a whole, for server codes; `nil` for other families.
    public let status: Int?
    public let meaning: String
    public let remedy: String
    public let retry: RetryRule

    init(_ number: Int, _ name: String, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(family: .framework, number: number, name: name, status: nil, meaning: meaning, remedy: remedy, retry: retry)
    }

    init(_ name: String, status: Int?, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(family: .server, number: nil, name: name, status: status, meaning: meaning, remedy: remedy, retry: retry)
    }

    init(javaScript name: String, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(family: .javaScript, number: nil, name: name, status: nil, meaning: meaning, remedy: remedy, retry: retry)
    }

    init(internal number: Int, _ name: String, _ retry: RetryRule, _ meaning: String, _ remedy: String) {
        self.init(family: .internal, number: number, name: name, status: nil, meaning: meaning, remedy: remedy, retry: retry)
    }

    private init(family: Family, number: Int?, name: String, status: Int?, meaning: String, remedy: String, retry: RetryRule) {
        self.family = family
        self.number = number
        self.name = name
        self.status = status
        self.meaning = meaning
        self.remedy = remedy
        self.retry = retry
    }

    /// `Change Token Expired`, as in error descriptions. Server names stay unchanged.
    public var title: String {
        if family != .framework { return name }
        var title = ""
        for character in name {
            if title.isEmpty { title += character.uppercased() } else { title += character.isUppercase ? " \(character)" : String(character) }
        }
        return title
    }

    /// The framework code with a number; `nil` if it is unknown.
    public static func framework(_ number: Int) -> ErrorCode? { framework.first { $0.number == number } }

    /// The internal code with a number; `nil` if it is unknown.
    public static func `internal`(_ number: Int) -> ErrorCode? { `internal`.first { $0.number == number } }

    /// The server or CloudKit JS code with a name; `nil` if it is unknown.
    public static func named(_ name: String) -> ErrorCode? {
        (server + javaScript).first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// The framework code with a name, such as `changeTokenExpired`, `CKErrorChangeTokenExpired` or `Change Token Expired`; `nil` if it is unknown.
    public static func frameworkNamed(_ name: String) -> ErrorCode? {
        let plain = (name.hasPrefix("CKError") ? String(name.dropFirst("CKError".count)) : name).filter { $0 != " " }.lowercased()
        return framework.first { $0.name.lowercased().utf8.elementsEqual(plain.utf8) }
    }
}
