internal import NIOHTTP1
public import Records

/// The error of a request that failed as a whole. Errors of single items are part of the answers instead.
public struct CloudKitFailure: Error, Sendable, CustomStringConvertible {
    /// The reasons for a failure, and what each means for a request that saves.
    public enum Kind: Sendable, Hashable {
        /// CloudKit refused the request. Repeating it would not help.
        case refused(ServerError)
        /// CloudKit was still too busy when the deadline was too near for another attempt. Nothing was done.
        case throttled(ServerError)
        /// A user must sign in, for the first time or again; see ``CloudKitFailure/signInURL``.
        case signInRequired(ServerError)
        /// No connection could be established, so the request was never sent.
        case unreachable(String)
        /// The server's certificate is not trusted.
        case untrusted(String)
        /// The connection of a read broke before the whole answer arrived, or no answer arrived in time.
        case connectionLost(String)
        /// A save was sent, and its answer was lost or is unreadable. The save may have been made: look up the records
        /// before you send it again.
        case answerLost(String)
        /// The answer is larger than the client's limit. Request less, or raise ``ClientConfiguration/answerLimit``.
        case answerTooLarge(limit: Int)
        /// The server answered, but not in CloudKit's format.
        case unexpectedAnswer(status: Int, String)
        /// The asset server answered with this HTTP status. After 403, 404 or 410 the address has expired: fetch the
        /// record again.
        case assetRefused(status: Int)
        /// The request cannot be sent in this form.
        case invalidRequest(String)
        /// The task was cancelled between two parts of a request that saves. The next part was not sent.
        case cancelled
        /// The client was closed.
        case closed
    }

    /// The reason for the failure. ``isPassing`` returns whether another attempt makes sense.
    public var kind: Kind
    /// The service, such as `records/modify`.
    public var action: String
    /// The client's ID of the request, which is also in its log. All attempts have the same one. `nil` if the request
    /// was never created.
    public var requestID: String?
    /// The number of times the request was sent.
    public var attempts: Int
    /// The HTTP status of the answer; `nil` if there was none.
    public var status: Int?
    /// The response header `X-Apple-Request-UUID`, by which Apple can find the request.
    public var appleRequestUUID: String?
    /// A likely cause that the answer itself does not state.
    public var advice: String?
    /// The text that was signed, if CloudKit refused the signature of a server-to-server key. CloudKit has only one
    /// answer for all mistakes in it.
    public var signed: SigningText?
    /// The items of the part that failed, if the request was sent in several parts. The items before it have answers;
    /// those after it were not sent.
    public var part: Range<Int>?
    /// The outcomes of the operations of `records/modify` before ``part``.
    public var answered: [Result<ModifiedRecord, ServerError>] = []

    /// Creates a failure of a request that was not sent.
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

    /// The sign-in page for the user; `nil` if no sign-in is needed, or if the answer contains no web address.
    public var signInURL: String? {
        guard case .signInRequired(let error) = kind, let url = error.redirectURL else { return nil }
        // Programs open the address in a browser, so it must not start another program.
        return url.hasPrefix("https://") || url.hasPrefix("http://") ? url : nil
    }

    /// True if a later attempt may succeed without any change by a person.
    public var isPassing: Bool {
        switch kind {
        case .throttled, .unreachable, .connectionLost, .answerLost, .unexpectedAnswer: true
        default: false
        }
    }

    /// True if the request was sent and no usable answer arrived.
    var isOfLostAnswer: Bool {
        switch kind {
        case .connectionLost, .answerLost: true
        default: false
        }
    }

    /// True if there is no usable answer, because the request was not sent or its answer is missing.
    var isOfNoAnswer: Bool {
        if case .unreachable = kind { true } else { isOfLostAnswer }
    }

    /// True if only this request failed and the server answers other requests.
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
    package var words: String {
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

/// An error from CloudKit, for a whole request or for one item of an answer.
public struct ServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The `serverErrorCode` exactly as CloudKit sent it.
    public var codeName: String
    /// CloudKit's description of the error, for developers.
    public var reason: String
    /// The time to wait before repeating the request; `nil` if CloudKit does not state it. It can be days.
    public var retryAfter: Duration?
    /// CloudKit's ID of the failure.
    public var uuid: String?
    /// The address of the sign-in page.
    public var redirectURL: String?
    /// The record with the error; `nil` for the error of a request or a zone, or if CloudKit does not name the record.
    public var recordName: Name?

    /// Creates an error as a server may send it.
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

    /// The error code; `nil` if it is not documented.
    public var code: ServerErrorCode? { ServerErrorCode(rawValue: codeName) }

    /// The row of the catalogue of errors for this code and text; `nil` if there is none.
    public var known: KnownReason? { code.flatMap { KnownReason($0, reason) } }

    /// True if CloudKit did nothing and a later attempt may succeed: THROTTLED, TRY_AGAIN_LATER, ZONE_BUSY, or an
    /// unavailable service.
    public var isTemporary: Bool {
        switch code {
        case .throttled, .tryAgainLater, .zoneBusy: true
        default: codeName == Self.unavailable
        }
    }

    /// The code for a service that is unavailable and does not answer with CloudKit's JSON. CloudKit JS uses the same
    /// code.
    package static let unavailable = "SERVICE_UNAVAILABLE"

    public var description: String { "\(codeName): \(reason)" }
}

extension ServerError {
    /// Reads the error from an item of an answer, or from the answer itself.
    /// - Returns: `nil` if the object is not an error.
    public init?(_ object: JSONObject) {
        guard let codeName = object.string("serverErrorCode") else { return nil }
        self.init(
            codeName: codeName, reason: object.string("reason") ?? codeName,
            retryAfter: object["retryAfter"].flatMap(Duration.init(stated:)),
            uuid: object.string("uuid"), redirectURL: object.string("redirectURL") ?? object.string("redirectUrl"),
            recordName: object.string("recordName").map { Name($0) })
    }

    /// Reads the error of a whole answer, and removes secrets that the server repeats.
    init?(_ object: JSONObject, hiding secrets: [Secret]) {
        self.init(object)
        codeName = codeName.hiding(secrets)
        reason = reason.hiding(secrets)
        uuid = uuid?.hiding(secrets)
    }

    /// The error if the server is temporarily unavailable. The waiting time in the header is preferred to that in the
    /// body, because its unit is certain.
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
    /// Reads a number of seconds. It is limited to ten years, so that sums cannot overflow.
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
