package import HTTPTypes

/// A page: the view model of a template, and the data for its frame.
package protocol Page: ViewModel {
    /// The name of the template.
    static var template: String { get }
    /// The tab of the page.
    static var tab: Tab { get }
    /// The tab that its frame shows. A question shows the tab that asks it.
    var frameTab: Tab { get }
    /// The title of the browser's tab, without the container and its environment.
    var title: String { get }
    var status: HTTPResponse.Status { get }
    /// Seconds after which the same request can succeed; `nil` where that is not in question.
    var retryAfter: Int? { get }
}

extension Page {
    package var frameTab: Tab { Self.tab }
    package var status: HTTPResponse.Status { .ok }
    package var retryAfter: Int? { nil }
}
