/** Style sheets are imported for their effect alone: esbuild gathers them into `dist/webview.css`. */
declare module "*.css";
