/// A code that errors of CloudKit carry: what it is called, what it means and what a client does.
///
/// The facts are those of Apple's reference pages "CKError.Code" and "Error Codes" (CloudKit Web Services Reference); the words are our own.
public struct ErrorCode: Sendable, Hashable {
    /// Whose code it is.
    public enum Family: Sendable, Hashable {
        /// CloudKit.framework's, in the domain CKErrorDomain.
        case framework
        /// `serverErrorCode` of the web services.
        case server
        /// What CloudKit JS reports of itself.
        case javaScript
    }

    public let family: Family
    /// Of the framework's codes.
    public let number: Int?
    /// `changeTokenExpired`, `ZONE_NOT_FOUND`.
    public let name: String
    /// Of the server's codes: the HTTP status of a request that failed as a whole.
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

    private init(family: Family, number: Int?, name: String, status: Int?, meaning: String, remedy: String, retry: RetryRule) {
        self.family = family
        self.number = number
        self.name = name
        self.status = status
        self.meaning = meaning
        self.remedy = remedy
        self.retry = retry
    }

    /// `Change Token Expired`, as descriptions have it; names of the server stay as they are.
    public var title: String {
        if family != .framework { return name }
        var title = ""
        for character in name {
            if title.isEmpty { title += character.uppercased() } else { title += character.isUppercase ? " \(character)" : String(character) }
        }
        return title
    }

    public static let all = framework + server + javaScript

    /// A code of the framework by its number.
    public static func framework(_ number: Int) -> ErrorCode? { framework.first { $0.number == number } }

    /// A code of the server or of CloudKit JS by its name.
    public static func named(_ name: String) -> ErrorCode? {
        (server + javaScript).first { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// A code of the framework by its name: `changeTokenExpired`, `CKErrorChangeTokenExpired` or, as descriptions have it, `Change Token Expired`.
    public static func frameworkNamed(_ name: String) -> ErrorCode? {
        let plain = (name.hasPrefix("CKError") ? String(name.dropFirst("CKError".count)) : name).filter { $0 != " " }.lowercased()
        return framework.first { $0.name.lowercased().utf8.elementsEqual(plain.utf8) }
    }
}
