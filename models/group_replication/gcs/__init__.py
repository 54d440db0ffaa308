"""Group communication as the plugin sees it: suspicions, views, and the facade over XCom."""
