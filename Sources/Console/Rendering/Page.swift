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
    /// Seconds after which the same request can succeed; `nil` where that is not in question.
    var retryAfter: Int? { get }
}

extension Page {
    var status: HTTPResponse.Status { .ok }
    var retryAfter: Int? { nil }
}
