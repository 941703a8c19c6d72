internal import Console
internal import HTTPServing

extension Console {
    /// Adds the pages of subscriptions: the list, and the form that makes and changes one.
    func addSubscriptionPages(to router: Routes.Group) {
        show("subscriptions", on: router) { .page(try await SubscriptionsView.load($0)) }
        show("subscription", on: router, readsZones: true) { .page(try await SubscriptionView.load($0)) }
        submit("subscription", carries: .record(times: 1), on: router, [.readsZones]) { try await SubscriptionView.submit($0) }
        show("subscription/delete", on: router) { .page(try SubscriptionActions.confirmDeletion($0)) }
        act("subscription/delete", on: router) { try await SubscriptionActions.delete($0) }
    }
}
