internal import Console
internal import HTTPServing
internal import Hummingbird
internal import Records

extension Console {
    /// Adds the pages of the notifications that devices got.
    func addNotificationPages(to router: Routes.Group) {
        show("notifications", on: router) { visit in
            guard let id = visit.fields.text("id") else { return .page(NotificationsView.load(visit)) }
            return .page(try NotificationView.load(id, visit, canSend: notificationSender != nil))
        }
        if let notificationSender { act("notification/again", on: router) { try NotificationView.sendAgain($0, notificationSender) } }
        router.get("\(Self.placePath)/notification/file") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            return try NotificationView.file(visit)
        }
    }
}
