internal import NIOHTTP1
public import Records

/// The reason why a request got no answer that can be used. Failures of single items are in the answers instead.
public struct CloudKitFailure: Error, Sendable, CustomStringConvertible {
    /// The reasons, and what they mean for a request that saves.
    public enum Kind: Sendable, Hashable {
        /// CloudKit refused the request. Repeating it would not help.
        case refused(ServerError)
        /// CloudKit still had no time for the request when the deadline was too near to try again. Nothing was done.
        case throttled(ServerError)
        /// A user has to sign in, for the first time or again; see ``CloudKitFailure/signInURL``.
        case signInRequired(ServerError)
        /// No connection could be made, so that the request was never sent.
        case unreachable(String)
        /// The server's certificate is not trusted.
        case untrusted(String)
        /// The connection broke before the whole answer of a read was there, or no answer came in time.
        case connectionLost(String)
        /// A save was sent, and its answer was lost or cannot be read. It may have been made: look before you make it
        /// again.
        case answerLost(String)
        /// The answer has more bytes than the client takes. Ask for less, or raise ``ClientConfiguration/answerLimit``.
        case answerTooLarge(limit: Int)
        /// The server answered, but not in CloudKit's format.
        case unexpectedAnswer(status: Int, String)
        /// The server of asset files answered with this HTTP status. After 403, 404 and 410 the address has expired:
        /// fetch the record again.
        case assetRefused(status: Int)
        /// The request cannot be sent as it is.
        case invalidRequest(String)
        /// The task was cancelled between the parts of a request that saves. The part was not sent.
        case cancelled
        /// The client was closed.
        case closed
    }

    /// The reason. ``isPassing`` tells if another attempt makes sense.
    public var kind: Kind
    /// Such as `records/modify`.
    public var action: String
    /// The client's id of the request, which its log has too. All attempts have the same one; `nil` if the request was
    /// never made.
    public var requestID: String?
    /// The number of times the request was sent.
    public var attempts: Int
    /// The HTTP status of the answer; `nil` if there was none.
    public var status: Int?
    /// The response header `X-Apple-Request-UUID`, by which Apple finds a request.
    public var appleRequestUUID: String?
    /// A likely cause that the answer itself does not tell.
    public var advice: String?
    /// The text that was signed, if CloudKit refused the signature of a server-to-server key: it has one answer for all
    /// mistakes.
    public var signed: SigningText?
    /// The items of the part that failed, if the request was sent in parts. Items before it have answers, items after
    /// it were not sent.
    public var part: Range<Int>?
    /// Outcomes of the operations of `records/modify` before ``part``.
    public var answered: [Result<ModifiedRecord, ServerError>] = []

    /// A failure before the request was made.
    init(_ kind: Kind, action: String) {
        self.kind = kind
        self.action = action
        attempts = 0
    }

    init(_ kind: Kind, _ attempt: RequestEvent.Attempt, appleRequestUUID: String? = nil) {
        self.kind = kind
        self.action = attempt.action
        self.requestID = attempt.requestID
        self.attempts = attempt.number
        self.appleRequestUUID = appleRequestUUID
    }

    /// CloudKit's own error, if it stated one.
    public var serverError: ServerError? {
        switch kind {
        case .refused(let error), .throttled(let error), .signInRequired(let error): error
        default: nil
        }
    }

    /// The page on which the user signs in; `nil` if none is needed, or the answer does not have an address of the web.
    public var signInURL: String? {
        guard case .signInRequired(let error) = kind, let url = error.redirectURL else { return nil }
        // Programs open it in a browser, which must not start something else.
        return url.hasPrefix("https://") || url.hasPrefix("http://") ? url : nil
    }

    /// True if a later attempt may succeed without anybody's help.
    public var isPassing: Bool {
        switch kind {
        case .throttled, .unreachable, .connectionLost, .answerLost, .unexpectedAnswer: true
        default: false
        }
    }

    /// True if the request was sent, and no answer came that can be used.
    var isOfLostAnswer: Bool {
        switch kind {
        case .connectionLost, .answerLost: true
        default: false
        }
    }

    /// True if no answer came that can be used, because the request was not sent or its answer is missing.
    var isOfNoAnswer: Bool {
        if case .unreachable = kind { true } else { isOfLostAnswer }
    }

    /// True if only this request failed: the server answers others.
    package var isOfOneRequest: Bool {
        switch kind {
        case .refused, .answerTooLarge, .unexpectedAnswer, .assetRefused, .invalidRequest: true
        default: false
        }
    }

    public var description: String {
        var text = "\(action): \(kind.words)"
        if let part {
            text +=
                "; this is about the items \(part.lowerBound) to \(part.upperBound - 1), those before were answered, those after not sent"
        }
        if let advice { text += ". \(advice)" }
        if let signed { text += ". Signed: \(signed)" }
        var ids = requestID.map { ["request \($0)"] } ?? []
        if attempts > 1 { ids.append("\(attempts) attempts") }
        if let appleRequestUUID { ids.append("Apple's id \(appleRequestUUID)") }
        if let uuid = serverError?.uuid { ids.append("error \(uuid)") }
        return ids.isEmpty ? text : "\(text) (\(ids.joined(separator: ", ")))"
    }
}

extension CloudKitFailure.Kind {
    var words: String {
        switch self {
        case .refused(let error): "\(error)"
        case .throttled(let error):
            "\(error)" + (error.retryAfter.map { "; CloudKit asks to wait \($0.inWords)" } ?? "")
        case .signInRequired(let error): "a user has to sign in (\(error))"
        case .unreachable(let reason): "no server could be reached: \(reason)"
        case .untrusted(let reason): "the server's certificate is not trusted: \(reason)"
        case .connectionLost(let reason): "the connection was lost before the answer came: \(reason)"
        case .answerLost(let reason):
            "the answer was lost, and the change may have been made; look before you make it again: \(reason)"
        case .answerTooLarge(let limit): "the answer has more than \(limit) bytes; ask for less"
        case .unexpectedAnswer(let status, let reason): "this is no answer of CloudKit: status \(status), \(reason)"
        case .assetRefused(let status): "the server of asset files answered with status \(status)"
        case .invalidRequest(let reason): reason
        case .cancelled: "the task was cancelled"
        case .closed: "the client was closed"
        }
    }
}

extension Duration {
    /// `30 seconds`, `5 minutes`, `31 hours`, `2 days`.
    var inWords: String {
        let seconds = components.seconds
        let (number, unit) =
            switch seconds {
            case ..<120: (seconds, "second")
            case ..<7200: (seconds / 60, "minute")
            case ..<172_800: (seconds / 3600, "hour")
            default: (seconds / 86_400, "day")
            }
        return "\(number) \(unit)\(number == 1 ? "" : "s")"
    }
}

// MARK: - CloudKit's errors

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
        codeName: String, reason: String, retryAfter: Duration? = nil, uuid: String? = nil, redirectURL: String? = nil,
        recordName: Name? = nil
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

    /// True if CloudKit did nothing, and a later attempt may succeed: THROTTLED, TRY_AGAIN_LATER, ZONE_BUSY and an
    /// unavailable service.
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
            codeName: codeName, reason: object.string("reason") ?? codeName,
            retryAfter: object["retryAfter"].flatMap(Duration.init(stated:)),
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
        var error =
            stated ?? ServerError(codeName: unavailable, reason: "status \(reply.status) without CloudKit's JSON")
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
