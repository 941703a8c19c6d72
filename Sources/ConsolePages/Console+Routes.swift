internal import AdminPages
package import Console
package import HTTPServing
internal import RecordPages
internal import TrafficPages

extension Console {
    /// Adds all pages, the static files, and the error pages.
    ///
    /// Requires the guards of `HTTPServing` before it: they set the security headers and refuse forms from other sites.
    package func addRoutes(to routes: Routes) {
        let (router, open) = addFrame(to: routes)
        addRecordPages(to: router) { try await ClientsPanel.load($0, $1, $2) }
        addTrafficPages(to: router) { QueryForm($0, of: $1)?.parameters }
        addAdminPages(to: router, open: open)
    }
}
