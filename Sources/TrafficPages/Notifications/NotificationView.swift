internal import Console
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Records
internal import Traffic

/// The page of one notification: its cause, its device, and its payload.
struct NotificationView: Page {
    static let template = "notification"
    static let tab = Tab.notifications

    let title: String
    let notice: String?
    let row: NotificationRow
    let position: String
    /// The payload as JSON; `nil` if it was not made.
    let payload: String?
    let size: String
    let isPruned: Bool
    /// The notifications that this one stands for.
    let others: [NotificationRow]
    let all: String
    /// The form that sends it again; `nil` if it can't be sent.
    let again: String?
    let id: String
    /// The form that saves it for a simulator, and its fields.
    let file: String
    let hidden: [Frame.Hidden]
    let milliseconds: String
}

extension NotificationView {
    /// - Throws: `RecordError` NOT_FOUND for one that is no longer kept, or of another environment.
    static func load(_ id: String, _ visit: Visit, canSend: Bool) throws -> NotificationView {
        let notification = try find(id, visit)
        let place = visit.place
        let value = try? JSONReader.value(of: notification.payload)
        let others = visit.log.notifications.latest { $0.successor == notification.id }
        var isPruned = false
        if case .object(let payload)? = value, case .object(let app)? = payload["ck"] { isPruned = app["p"] != nil }
        return NotificationView(
            title: "Notification \(notification.id)", notice: Notice.text(visit.fields["notice"]), row: NotificationRow(notification, visit),
            position: Digits.grouped(notification.position), payload: value.map { RecordJSON.laidOut($0) },
            size: Digits.bytes(Int64(notification.payload.count)), isPruned: isPruned, others: others.map { NotificationRow($0, visit) },
            all: place.link(Tab.notifications.rawValue), again: canSend && value != nil ? place.link("notification/again") : nil,
            id: String(notification.id), file: "\(place.path)/notification/file",
            hidden: (place.parameters + [("id", String(notification.id))]).map { Frame.Hidden(name: $0.name, value: $0.value) },
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func find(_ id: String?, _ visit: Visit) throws -> LoggedNotification {
        guard let notification = id.flatMap({ Int64($0) }).flatMap({ visit.log.notifications.notification($0) }),
            notification.address.container == visit.place.address.container, notification.address.environment == visit.place.address.environment
        else { throw RecordError(.notFound, "The log has no such notification, or no longer") }
        return notification
    }

    /// - Returns: the address of the copy.
    static func sendAgain(_ visit: Visit, _ sender: any NotificationSender) throws -> String {
        let copy = try sender.sendAgain(find(visit.fields["id"], visit).id)
        return visit.place.link(Tab.notifications.rawValue, [("id", String(copy)), Notice.notificationSent.parameter])
    }

    /// A file to drop on a simulator, or for `xcrun simctl push`.
    static func file(_ visit: Visit) throws -> Response {
        let notification = try find(visit.fields["id"], visit)
        guard let bytes = SimulatorFile.bytes(of: notification.payload, bundle: visit.fields.text("bundle")) else {
            throw RecordError(.badRequest, "The notification was not made, so there is nothing to save")
        }
        var response = Response.content(bytes, type: "application/json")
        response.headers[.contentDisposition] = "attachment; filename=\"notification-\(notification.id).apns\""
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// The form of a notification that Apple's `simctl push` takes: its payload, with the app that gets it if the command does not name it.
enum SimulatorFile {
    /// - Parameter bundle: the app's bundle identifier; `nil` to leave it to the command.
    /// - Returns: `nil` if the payload is not a JSON object with the member `aps`.
    static func bytes(of payload: [UInt8], bundle: String?) -> [UInt8]? {
        guard case .object(let object)? = try? JSONReader.value(of: payload), object["aps"] != nil else { return nil }
        let target = bundle.map { [JSONObject.Member(name: "Simulator Target Bundle", value: .string($0))] } ?? []
        return Array((RecordJSON.laidOut(.object(JSONObject(target + object))) + "\n").utf8)
    }
}
