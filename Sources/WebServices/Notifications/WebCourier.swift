internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import RecordStore
internal import Records
internal import Synchronization
internal import Traffic

/// The web courier: each GET takes one notification, and waits for it (docs/subscriptions.md).
struct WebCourier {
    static let path = "/aps"

    let notifier: Notifier

    func answer(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        guard let token = request.queryParameter("tok"), let courier = notifier.courier(of: token) else {
            // CloudKit JS hands every answer in JSON to the app. It tries again after one that is not.
            return .text("This token is not known, or has expired. Ask tokens/create for another one.\n", status: .notFound)
        }
        RequestNote.current?.update { $0.userRecordName = courier.user }
        // Nothing is handed out without a body.
        let parcel = context.isHead ? nil : try await context.whileConnected { [notifier] in await courier.next(within: notifier.patience) } ?? nil
        let handover = parcel.map { Handover(of: $0, by: courier) }
        let bytes = parcel?.bytes ?? Array("null".utf8)
        RequestNote.current?.answered(bytes)
        var response = Response.json(bytes)
        response.headers[.cacheControl] = "no-store"
        response.body = ResponseBody(contentLength: bytes.count) { [notifier] writer in
            try await writer.write(ByteBuffer(bytes: bytes))
            try await writer.finish(nil)
            if let parcel = handover?.complete() { notifier.delivered(parcel, by: courier, of: token) }
        }
        return response
    }
}

/// A notification on its way. If it does not arrive, the courier gets it back.
private final class Handover: Sendable {
    private let parcel: Courier.Parcel
    private let courier: Courier
    private let isComplete = Atomic<Bool>(false)

    init(of parcel: Courier.Parcel, by courier: Courier) {
        self.parcel = parcel
        self.courier = courier
    }

    deinit {
        if !isComplete.load(ordering: .relaxed) { courier.takeBack(parcel) }
    }

    func complete() -> Courier.Parcel {
        isComplete.store(true, ordering: .relaxed)
        return parcel
    }
}
