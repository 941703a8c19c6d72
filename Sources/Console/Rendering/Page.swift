internal import HTTPTypes

/// One page: the view model of a template, and what the frame around it needs to know.
protocol Page: ViewModel {
    /// The name of the template.
    static var template: String { get }
    /// The entry of the navigation that the page belongs to.
    static var tab: Tab { get }
    /// What the browser's tab says, without the name of the product.
    var title: String { get }
    var status: HTTPResponse.Status { get }
}

extension Page {
    var status: HTTPResponse.Status { .ok }
}

/// The entries of the navigation, each with the last part of its URL.
enum Tab: String, Sendable {
    case query, fetch, changes, zones, types, schema, token, users
    /// Outside of any container.
    case home = ""

    /// Whether the tab is one of the three ways to read.
    var readsRecords: Bool { self == .query || self == .fetch || self == .changes }
}
