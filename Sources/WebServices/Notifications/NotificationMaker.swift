internal import Foundation
internal import RecordStore
internal import Records
internal import RequestLog

/// Makes the notifications of changes that match subscriptions, with the injected faults (docs/rehearsals.md).
struct NotificationMaker: Sendable {
    let faults: FaultInjection
    /// The log of notifications for the console; `nil` for none.
    let log: NotificationLog?
    let now: @Sendable () -> Timestamp

    /// The notifications of a match for a device: none, one, or several if faults are injected. Logs each of them.
    func notifications(of match: SubscriptionMatch, for device: Notifier.Device, at place: Notifier.Place)
        -> [DeviceQueue.Notification]
    {
        guard device.scope.map({ $0 == match.owned.scope }) ?? true else { return [] }
        func noted(_ outcome: LoggedNotification.Outcome, _ payload: [UInt8] = [], delay: Duration? = nil) -> Int64? {
            // Streams are not devices, so their notifications are not logged.
            guard let log, let tokenID = device.tokenID else { return nil }
            return log.add(match.logged(outcome, payload, delay: delay, to: tokenID, device.queue, at: place, now()))
        }
        if match.isOwn(of: device.queue), !isActive(.ownNotifications, match, at: place) {
            _ = noted(.ownChange)
            return []
        }
        guard let notification = match.notification(for: device.queue, at: place) else {
            _ = noted(.withoutContent)
            return []
        }
        let sent = rehearsed(notification, match, at: place)
        if sent.isEmpty { _ = noted(.lost, notification.bytes) }
        return sent.map { notification in
            var notification = notification
            notification.logID = noted(.waiting, notification.bytes, delay: notification.delay)
            return notification
        }
    }

    /// The notifications that result from one after applying the injected faults.
    private func rehearsed(
        _ notification: DeviceQueue.Notification, _ match: SubscriptionMatch, at place: Notifier.Place
    )
        -> [DeviceQueue
        .Notification]
    {
        func isActive(_ fault: InjectedFault) -> Bool { self.isActive(fault, match, at: place) }
        if isActive(.lostNotifications) { return [] }
        var notification = notification
        if isActive(.coalescedNotifications) { notification.key = .anything }
        notification.isFirst = isActive(.shuffledNotifications)
        if isActive(.lateNotifications) { notification.delay = InjectedFault.notificationDelay }
        guard isActive(.doubledNotifications) else { return [notification] }
        var second = notification
        second.key = nil
        return [notification, second]
    }

    private func isActive(_ fault: InjectedFault, _ match: SubscriptionMatch, at place: Notifier.Place) -> Bool {
        if faults.isIdle { return false }
        return faults.isActive(fault, for: nil) { area in
            area.covers(place.container, place.environment, match.owned.scope)
                && area.covers(.zones([match.change.zoneID]))
                && area.user.map { $0 == match.owned.user } ?? true
        }
    }
}

/// A change and one of the subscriptions that match it.
struct SubscriptionMatch {
    let change: CommittedChange
    /// The ID that all notifications of the change have.
    let id: String
    let owned: OwnedSubscription

    /// - Returns: `nil` if the subscription does not define the content of a notification.
    func notification(for queue: DeviceQueue, at place: Notifier.Place) -> DeviceQueue.Notification? {
        let badge = owned.subscription.notificationInfo?.shouldBadge == true ? queue.nextBadge() : 0
        return NotificationPayload(of: owned, for: change, in: place.container, id: id, badge: badge)
            .map { DeviceQueue.Notification(bytes: $0.bytes, key: key(at: place)) }
    }

    /// True if the device itself made the change.
    func isOwn(of queue: DeviceQueue) -> Bool {
        guard let clientID = queue.clientID, let signature = change.record?.signature else { return false }
        return signature.userRecordName == queue.user && signature.deviceID == clientID
    }

    func logged(
        _ outcome: LoggedNotification.Outcome, _ payload: [UInt8], delay: Duration?, to tokenID: String,
        _ queue: DeviceQueue, at place: Notifier.Place, _ now: Timestamp
    ) -> LoggedNotification {
        var logged = LoggedNotification(
            at: now, in: place.address(owned.scope), of: owned.user,
            subscriptionID: owned.subscription.subscriptionID,
            position: change.position, zoneID: change.zoneID, recordName: change.record?.record.recordID.recordName,
            event: change.record?.event,
            tokenID: tokenID, clientID: queue.clientID, outcome: outcome)
        (logged.payload, logged.delay) = (payload, delay)
        return logged
    }

    private func key(at place: Notifier.Place) -> DeviceQueue.CoalescingKey? {
        switch owned.subscription.subject {
        case .query: owned.subscription.notificationInfo?.collapseIDKey.map { .collapseID(place, $0) }
        case .zone, .database:
            .zone(place, owned.scope, subscriptionID: owned.subscription.subscriptionID, change.zoneID)
        }
    }
}
