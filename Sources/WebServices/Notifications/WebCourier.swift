internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog
internal import Synchronization

/// The web courier: each GET waits for one notification and returns it (docs/subscriptions.md).
struct WebCourier {
    static let path = "/aps"

    let notifier: Notifier

    func answer(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        guard let token = request.queryParameter("tok"), let queue = notifier.queue(of: token) else {
            // CloudKit JS passes every JSON answer to the app. After an answer in another format it tries again.
            return .text(
                "This token is not known, or has expired. Ask tokens/create for another one.\n", status: .notFound)
        }
        RequestRecorder.current?.update { $0.userRecordName = queue.user }
        // An answer without a body must not take a notification from the queue.
        let delivery =
            context.isHead
            ? nil
            : try await context.whileConnected { [notifier] in await queue.next(within: notifier.patience) } ?? nil
        let handover = delivery.map { UnconfirmedNotification(of: $0, by: queue) }
        let bytes = delivery?.bytes ?? Array("null".utf8)
        RequestRecorder.current?.answered(bytes)
        var response = Response.json(bytes)
        response.headers[.cacheControl] = "no-store"
        response.body = ResponseBody(contentLength: bytes.count) { [notifier] writer in
            try await writer.write(ByteBuffer(bytes: bytes))
            try await writer.finish(nil)
            if let delivery = handover?.complete() { notifier.delivered(delivery, by: queue, of: token) }
        }
        return response
    }
}

/// A notification that is being sent. If it is not delivered, it returns to the queue.
private final class UnconfirmedNotification: Sendable {
    private let delivery: DeviceQueue.Delivery
    private let queue: DeviceQueue
    private let isComplete = Atomic<Bool>(false)

    init(of delivery: DeviceQueue.Delivery, by queue: DeviceQueue) {
        self.delivery = delivery
        self.queue = queue
    }

    deinit {
        if !isComplete.load(ordering: .relaxed) { queue.takeBack(delivery) }
    }

    func complete() -> DeviceQueue.Delivery {
        isComplete.store(true, ordering: .relaxed)
        return delivery
    }
}

// MARK: - Device tokens

/// `tokens/create`: creates a token for the web courier and registers it for this container and environment (Apple's
/// reference page "Creating APNs Tokens").
struct TokensCreate: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try DeviceRequest(call)
        let token = try await call.notifier.makeToken(
            for: call.caller.userRecordName, clientID: request.clientID, at: request.place)
        request.write(token, call, into: &writer)
    }
}

/// `tokens/register`: registers a token for one more container or environment (Apple's reference page "Registering
/// Tokens").
///
/// It answers like `tokens/create`, because CloudKit JS begins to poll with either answer.
struct TokensRegister: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try DeviceRequest(call)
        let token = try call.body.required("apnsToken", "a string", call.body.string("apnsToken"))
        guard try await call.notifier.register(token, of: call.caller.userRecordName, at: request.place) else {
            throw RecordError(
                .notFound, "The user has no such apnsToken here, or it has expired; ask tokens/create for another one")
        }
        request.write(token, call, into: &writer)
    }
}

/// The members that both requests have in common.
private struct DeviceRequest {
    let place: Notifier.Place
    let apnsEnvironment: Records.Environment
    let clientID: String?

    init(_ call: EndpointCall) throws {
        place = Notifier.Place(container: call.path.container, environment: call.path.environment)
        if let name = try call.body.string("apnsEnvironment") {
            guard let environment = Records.Environment(rawValue: name) else {
                throw RecordError.unexpectedInput(
                    "Expected 'apnsEnvironment' to be development or production, found '\(name)'")
            }
            apnsEnvironment = environment
        } else {
            apnsEnvironment = call.path.environment
        }
        // Clients spell the member in two ways. The device ID of the client's saves has precedence, because changes
        // with that ID are the client's own.
        let named = try CallerResolver.device(call.body.string("clientId") ?? call.body.string("clientID"))
        clientID = CallerResolver.device(call.caller.deviceID) ?? named
        call.note?.noteDevice(clientID)
    }

    func write(_ token: String, _ call: EndpointCall, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("apnsEnvironment", apnsEnvironment.rawValue)
            writer.member("apnsToken", token)
            writer.member(
                "webcourierURL",
                "\(call.origin())\(WebCourier.path)?tok=\(token)&ttl=\(SubscriptionRules.deviceTokenLifetime)")
        }
    }
}
