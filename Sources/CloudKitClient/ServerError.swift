public import JSON
internal import NIOHTTP1
public import Records
internal import Text

/// An error that CloudKit states, for a whole request or for one item of an answer.
public struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The `serverErrorCode` as CloudKit sent it.
    public var codeName: String
    /// CloudKit's words, for developers.
    public var reason: String
    /// The time to wait before repeating the request; `nil` if CloudKit does not tell. It was seen to be days.
    public var retryAfter: Duration?
    /// The id that CloudKit gave the failure.
    public var uuid: String?
    /// The address of the sign-in page.
    public var redirectURL: String?
    /// The record that the error is about; `nil` for a request or a zone, and where CloudKit does not tell.
    public var recordName: Name?

    /// An error as a server may state it.
    public init(
        codeName: String, reason: String, retryAfter: Duration? = nil, uuid: String? = nil, redirectURL: String? = nil, recordName: Name? = nil
    ) {
        self.codeName = codeName
        self.reason = reason
        self.retryAfter = retryAfter
        self.uuid = uuid
        self.redirectURL = redirectURL
        self.recordName = recordName
    }

    /// The code; `nil` for one that is not in the documentation.
    public var code: ServerErrorCode? { ServerErrorCode(rawValue: codeName) }

    /// The row of the catalogue that tells the error apart from others; `nil` for a text or a code that is not in it.
    public var known: KnownReason? { code.flatMap { KnownReason($0, reason) } }

    /// True if CloudKit did nothing, and a later attempt may succeed: THROTTLED, TRY_AGAIN_LATER, ZONE_BUSY and an unavailable service.
    public var isTemporary: Bool {
        switch code {
        case .throttled, .tryAgainLater, .zoneBusy: true
        default: codeName == Self.unavailable
        }
    }

    /// The code for a service that is unavailable without CloudKit's JSON, as in CloudKit JS.
    static let unavailable = "SERVICE_UNAVAILABLE"

    public var description: String { "\(codeName): \(reason)" }
}

extension ServerError {
    /// Reads an item of an answer, or the answer itself.
    /// - Returns: `nil` if the object is no error.
    public init?(_ object: JSONObject) {
        guard let codeName = object.string("serverErrorCode") else { return nil }
        self.init(
            codeName: codeName, reason: object.string("reason") ?? codeName, retryAfter: object["retryAfter"].flatMap(Duration.init(stated:)),
            uuid: object.string("uuid"), redirectURL: object.string("redirectURL") ?? object.string("redirectUrl"),
            recordName: object.string("recordName").map { Name($0) })
    }

    /// The error of a whole answer, without secrets that the server repeats.
    init?(_ object: JSONObject, hiding secrets: [Secret]) {
        self.init(object)
        codeName = codeName.hiding(secrets)
        reason = reason.hiding(secrets)
        uuid = uuid?.hiding(secrets)
    }

    /// The error if the server has no time now. The unit of the header is certain, so it comes before the body.
    static func temporary(_ stated: ServerError?, _ reply: Transport.Reply, at now: Timestamp) -> ServerError? {
        guard stated?.isTemporary == true || reply.status == 503 || reply.status == 429 else { return nil }
        var error = stated ?? ServerError(codeName: unavailable, reason: "status \(reply.status) without CloudKit's JSON")
        if let header = reply.headers.first(name: "Retry-After") {
            let untilDate = HTTPDate.seconds(header).map { Duration.seconds(max($0 - now.milliseconds / 1000, 0)) }
            error.retryAfter = Duration(stated: .string(header)) ?? untilDate ?? error.retryAfter
        }
        return error
    }
}

extension Duration {
    /// A stated number of seconds. Ten years stand for everything above, so that sums cannot overflow.
    init?(stated json: JSONValue) {
        let seconds: Double? =
            switch json {
            case .integer(let integer): Double(integer)
            case .double(let double): double
            case .string(let text): Double(text)
            default: nil
            }
        guard let seconds, seconds >= 0 else { return nil }
        self = .milliseconds(Int64(min(seconds, 315_360_000) * 1000))
    }
}
